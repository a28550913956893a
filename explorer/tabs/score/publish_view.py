"""Sending a finished run to a results dataset: first what would be sent, then sending it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import gradio as gr

from explorer.core.html import note, part
from explorer.core.parts import EVENT, Filling, guarded
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.data.library import Library
from explorer.data.table import PairTable
from explorer.reader.session import Session
from explorer.runs.cards import pairs_of
from explorer.runs.running import Runs
from explorer.runs.visitors import Visitor
from explorer.tabs.score.publishing import Sending, preview, publish
from explorer.tabs.score.state import ScoreState
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.record import Run

_part = partial(part, of="tabs/score/publish.html")


@dataclass(frozen=True)
class PublishParts:
    """The panel's components."""

    repo: gr.Textbox
    name: gr.Textbox
    look: gr.Button
    shown: gr.HTML
    token: gr.Textbox
    as_pull_request: gr.Checkbox
    send: gr.Button
    status: gr.HTML


def build_publish(settings: Settings) -> PublishParts:
    """Lay the panel out where it is called; it says so where nothing can be published."""
    may = can_publish(settings)
    with gr.Accordion(text("publish.title"), open=False, elem_id="publish"):
        gr.HTML(note(_about(settings)))
        with gr.Row(visible=may):
            repo = gr.Textbox(
                label=text("publish.repo"),
                placeholder="org/reward-bench-results",
                max_lines=1,
                elem_id="publish-repo",
            )
            name = gr.Textbox(
                label=text("publish.name"),
                placeholder="org/model",
                max_lines=1,
                elem_id="publish-name",
            )
            look = gr.Button(
                text("publish.look"), scale=0, min_width=120, size="md", elem_id="publish-look"
            )
        shown = gr.HTML(elem_id="publish-preview")
        with gr.Row(visible=may):
            token = gr.Textbox(
                label=text("publish.token"),
                info=text("publish.token_info"),
                type="password",
                max_lines=1,
                visible=not settings.public,
                elem_id="publish-token",
            )
            as_pull_request = gr.Checkbox(
                False,
                label=text("publish.as_pull_request"),
                info=text("publish.as_pull_request_info"),
                visible=not settings.public,
                elem_id="publish-pull-request",
            )
            send = gr.Button(
                text("publish.send"),
                variant="primary",
                interactive=False,
                scale=0,
                min_width=120,
                size="md",
                elem_id="publish-send",
            )
        status = gr.HTML(elem_id="publish-status")
    return PublishParts(repo, name, look, shown, token, as_pull_request, send, status)


def _about(settings: Settings) -> str:
    if not can_publish(settings):
        return text("publish.sign_in_missing")
    about = text("publish.about_request" if settings.public else "publish.about")
    return f"{about} {text('ties.official')}"


def can_publish(settings: Settings) -> bool:
    """Whether there is a token to publish with: typed on one's own machine, else of who signed in.

    Nobody should type a token into a stranger's server.
    """
    return settings.has_sign_in or not settings.public


@dataclass(frozen=True)
class Publish:
    """The panel's callbacks. What is sent is the run that the list of runs shows."""

    runs: Runs
    tables: Library
    hub: Hub
    settings: Settings
    parts: PublishParts

    @guarded
    def look(self, session: Session, *asked: object) -> Filling:
        """What would be sent; it may be sent then. asked: the dataset, and the model's name."""
        seen = preview(*self._run(session), *asked)
        session.show(seen)
        parts = self.parts
        ready = {parts.send: gr.update(interactive=True), parts.status: ""}
        return {parts.shown: _part("preview", seen), **ready}

    @guarded
    def send(self, session: Session, typed: object, as_pull_request: object) -> Iterator[Filling]:
        """Send what was seen; the field of the token is emptied at once."""
        parts = self.parts
        token = self._token(session.visitor, typed)
        run, table = self._run(session)
        seen = session.get(Sending)
        held = {parts.token: "", parts.send: gr.update(interactive=False)}
        yield held | {parts.status: note(text("publish.sending"))}
        # Who signed in lent no leave to write, not even to what is theirs.
        is_request = as_pull_request is True or self.settings.public
        sent = publish(seen, run, table, self.hub, token=token, as_pull_request=is_request)
        yield held | {parts.status: _part("sent", sent)}

    def unsent(self) -> Filling:
        """Nothing was sent: it can be tried again, with the token typed anew."""
        parts = self.parts
        again = gr.update(interactive=True)
        return {parts.status: "", parts.token: "", parts.send: again}

    def _run(self, session: Session) -> tuple[Run, PairTable]:
        run_id = session.seen(ScoreState).run_id
        if not run_id:
            raise KnownError("No run is open. Open one of yours in the list of runs.")
        run = self.runs.store.opened_own(run_id, session.visitor)
        return run, pairs_of(run, self.tables)

    def _token(self, who: Visitor, typed: object) -> object:
        if not can_publish(self.settings):
            raise KnownError(text("publish.sign_in_missing"))
        if who.token:
            return who.token
        if self.settings.public:
            raise KnownError("Sign in with Hugging Face first, at the top: it is sent as yours.")
        return typed


def wire_publish(panel: Publish, session: gr.State) -> None:
    """Connect the components."""
    parts = panel.parts
    parts.look.click(
        panel.look,
        [session, parts.repo, parts.name],
        [parts.shown, parts.send, parts.status],
        **EVENT,
    )
    told = [parts.status, parts.token, parts.send]
    sent = parts.send.click(
        panel.send,
        [session, parts.token, parts.as_pull_request],
        told,
        trigger_mode="once",
        **EVENT,
    )
    sent.failure(panel.unsent, None, told, **EVENT)
