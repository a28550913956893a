"""Sending a finished run to a results dataset: first what would be sent, then sending it."""

from collections.abc import Hashable
from dataclasses import dataclass, field

from explorer.core.address_view import Sent
from explorer.core.html import render
from explorer.core.settings import Settings
from explorer.core.work import Jobs
from explorer.data.library import Library
from explorer.data.table import PairTable
from explorer.runs.cards import pairs_of
from explorer.runs.running import Runs
from explorer.runs.visitors import Visitor
from explorer.tabs.score.publishing import Publication, Sending, preview, publish
from explorer.tabs.score.state import ScoreState, read_score
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.limits import OnProgress, Step
from scoring.record import Run


def can_publish(settings: Settings) -> bool:
    """Whether there is a token to publish with: typed on one's own machine, else of who signed in.

    Nobody should type a token into a stranger's server.
    """
    return settings.has_sign_in or not settings.public


@dataclass(frozen=True)
class Publishing:
    """What is sent is the open run of the list. Callable from any thread.

    previews, sendings: by who asked and the run.
    """

    runs: Runs
    tables: Library
    hub: Hub
    settings: Settings
    previews: Jobs[Step, Sending] = field(default_factory=Jobs)
    sendings: Jobs[Step, Publication] = field(default_factory=Jobs)

    def html(self, state: ScoreState, visitor: Visitor) -> str:
        """The form, what would be sent, and what was."""
        key = _key(state, visitor)
        return render(
            "tabs/score/publishing.html",
            state=state,
            may=can_publish(self.settings),
            is_public=self.settings.public,
            preview=self.previews.of(key),
            sending=self.sendings.of(key),
        )

    def look(self, query: str, visitor: Visitor, _: Sent) -> str:
        """Show what would be sent of the open run. Gives the same address."""
        state, _dropped = read_score(query)
        run, table = self._run(state, visitor)
        key = _key(state, visitor)

        def looking(_: OnProgress) -> Sending:
            return preview(run, table, state.repo, state.name)

        self.sendings.forget(key)
        self.previews.do(key, looking)
        return query

    def send(self, query: str, visitor: Visitor, sent: Sent) -> str:
        """Send what was seen. Gives the same address.

        Raises:
            KnownError: nobody signed in where that is needed, or there is no such run.
        """
        state, _ = read_score(query)
        run, table = self._run(state, visitor)
        token = self._token(visitor, sent.get("token", ""))
        key = _key(state, visitor)
        shown = self.previews.of(key)
        # Who signed in lent no leave to write, not even to what is theirs.
        is_request = sent.get("as-request") == "1" or self.settings.public

        def sending(_: OnProgress) -> Publication:
            seen = shown.result if shown else None
            return publish(seen, run, table, self.hub, token=token, as_pull_request=is_request)

        self.sendings.begin(key, sending)
        return query

    def _run(self, state: ScoreState, visitor: Visitor) -> tuple[Run, PairTable]:
        if not state.run:
            raise KnownError("No run is open. Open one of yours in the list of runs.")
        run = self.runs.store.opened_own(state.run, visitor)
        return run, pairs_of(run, self.tables)

    def _token(self, visitor: Visitor, typed: str) -> object:
        if not can_publish(self.settings):
            raise KnownError("Publishing needs a sign-in, which this server does not offer.")
        if visitor.token:
            return visitor.token
        if self.settings.public:
            raise KnownError("Sign in with Hugging Face first, at the top: it is sent as yours.")
        return typed


def _key(state: ScoreState, visitor: Visitor) -> Hashable:
    return visitor.owner, state.run
