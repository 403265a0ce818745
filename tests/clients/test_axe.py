"""The dashboard under axe-core, the rules of WCAG 2.0 to 2.2 A and AA and of best practice: every page, in light and dark colours, wide
and narrow."""

import json

import pytest

import conftest

AXE = conftest.NODE / "node_modules" / "axe-core" / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SIZES = {"wide": (1280, 860), "narrow": (360, 780)}
RUN = """
const [tags, done] = arguments;
axe.run(document, { runOnly: { type: "tag", values: tags }, resultTypes: ["violations", "passes"] }).then(
  r => done({ passes: r.passes.length,
    violations: r.violations.map(v => `${v.id} (${v.help}): ` + v.nodes.map(n => n.target.join(" ")).join(", ")) }),
  e => done({ passes: 0, violations: [String(e)] }));
"""


@pytest.fixture(scope="module")
def signed_in(tmp_path_factory):
    """(browser, the module dashboard)"""
    browser, dashboard = conftest.integration("browser"), conftest.integration("dashboard")
    if not AXE.exists():
        pytest.skip("axe-core is not installed: npm is not there, or its registry was not reachable")
    if browser.missing():
        pytest.skip(browser.missing())
    folder = tmp_path_factory.mktemp("axe")
    with dashboard.served(folder) as rest, browser.Browser(folder) as b:
        b.size(*SIZES["wide"])
        dashboard.sign_in(b, rest)
        b.run(AXE.read_text())
        yield b, dashboard


def check(b):
    return b.do("POST", "/execute/async", {"script": RUN, "args": [TAGS]})


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages(signed_in, theme, size):
    b, dashboard = signed_in
    b.size(*SIZES[size])
    dashboard.use_theme(b, theme)
    found = {}
    for page, title in dashboard.PAGES.items():
        dashboard.show(b, page, title)
        b.gone("[aria-busy=true]")
        said = check(b)
        assert said["violations"] or said["passes"] > 10, said  # it has looked
        if said["violations"]:
            found[page] = said["violations"]
    assert not found, json.dumps(found, indent=1)


def test_it_finds_what_is_wrong(signed_in):
    """A picture without words is found: what finds nothing has looked."""
    b, dashboard = signed_in
    dashboard.show(b, "partitions", "Partitions")
    b.run("document.querySelector('main').append(document.createElement('img'))")
    try:
        assert any(v.startswith("image-alt ") for v in check(b)["violations"])
    finally:
        b.run("document.querySelector('main img').remove()")
