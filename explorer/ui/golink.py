"""Links from one tab to another, which are followed without loading the page anew."""

from explorer.ui.markup import tag


def go_link(inside: str, tab: str, query: str, css: str = "") -> str:
    """A link to what a tab shows. inside: HTML. query: without "?" and without the tab.

    >>> go_link("all", "failures", "model=m")
    '<a href="?tab=failures&amp;model=m" data-go="">all</a>'
    """
    return tag("a", inside, css, href=f"?tab={tab}&{query}", data_go="")
