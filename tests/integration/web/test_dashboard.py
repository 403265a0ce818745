"""The dashboard in a real browser: signing in, each page, each action looked at with the commands, and who may what.

Screenshots are kept in BUILD/screenshots."""

import re
import time

import pytest

import browser
from browser import Browser
from conftest import BUILD, HERE, SLOW, wait_until
from dashboard import PAGES, address, served, show, sign_in, use_theme
from restd import word_of

HOSTILE = '<img src=x onerror="document.title=1;window.hit=1">'
SHOTS = BUILD / "screenshots"


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    return tmp_path_factory.mktemp("web")


@pytest.fixture(scope="module")
def rest(lasting):
    reason = browser.missing()
    if reason:
        pytest.skip(reason)
    with served(lasting) as r:
        yield r


@pytest.fixture(scope="module")
def b(rest, lasting):
    SHOTS.mkdir(exist_ok=True)
    with Browser(lasting) as started:
        yield started


@pytest.fixture
def root(b, rest):
    """Root is signed in; a wide window in light colours."""
    b.size(1280, 860)
    b.log()
    if b.run("return location.pathname") != "/ui/" or b.text(".who") != "root":
        sign_in(b, rest)
    use_theme(b, "light")
    return b


# ---- the files ----

def test_files(rest):
    status, headers, text = rest.raw("GET", "/ui/")
    assert status == 200 and "<script type=\"module\" src=\"js/main.js\">" in text
    assert not re.search(r"<script(?![^>]*src=)|\son\w+=|style=|https?://", text)
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy and "connect-src 'self'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"
    for name, kind in (("js/main.js", "text/javascript"), ("style.css", "text/css"), ("icon.svg", "image/svg+xml")):
        status, headers, text = rest.raw("GET", f"/ui/{name}")
        assert status == 200 and headers["Content-Type"].startswith(kind) and headers["X-Content-Type-Options"] == "nosniff"
        status, again, text = rest.raw("GET", f"/ui/{name}", headers={"If-None-Match": headers["ETag"]})
        assert (status, text, again["ETag"]) == (304, "", headers["ETag"])
        status, _, text = rest.raw("GET", f"/ui/{name}", headers={"If-None-Match": '"other"'})
        assert status == 200 and text
    status, headers, _ = rest.raw("GET", "/ui")
    assert (status, headers["Location"]) == (308, "ui/")
    status, headers, text = rest.raw("HEAD", "/ui/js/api.js")
    assert status == 200 and text == "" and int(headers["Content-Length"]) > 1000
    for path in ("/ui/nosuch.js", "/ui/../ui/", "/ui/js", "/ui/js/", "/uix", "/ui/%2e%2e/etc/passwd", "/ui//js/main.js"):
        assert rest.raw("GET", path)[0] == 404, path
    assert rest.raw("POST", "/ui/", body="{}")[0] == 404


def test_modules_are_fetched_at_once():
    """Each module is in the page's head: none waits for another one to name it."""
    web = HERE.parent.parent / "web"
    named = set(re.findall(r'modulepreload" href="js/(\S+)"', (web / "index.html").read_text()))
    assert named == {path.name for path in (web / "js").glob("*.js")} - {"reader.js"}  # a worker


def test_sources_write_no_markup():
    """Names of jobs are text: nothing that reads markup is in the page."""
    for path in (HERE.parent.parent / "web" / "js").glob("*.js"):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|srcdoc|https?://(?!www\.w3\.org)",
                             path.read_text()), path


# ---- signing in ----

def test_sign_in(b, rest):
    b.requests()
    b.go(address(rest))
    b.wait("h1", "Penstock")
    for bad in ("nonsense", rest.token("root")[:-4] + "AAAA"):
        b.fill("Token", bad)
        b.press("Sign in")
        b.wait("[role=alert]", "This token is not good")
        assert b.run("return sessionStorage.length") == 0
    b.shot(SHOTS / "sign-in.png")
    b.fill("Token", f"SLURM_JWT={rest.token('root')}")
    b.press("Sign in")
    b.wait("h1", "Queue")
    b.wait(".live", "Live")
    b.press("Sign out")
    b.wait("h1", "Penstock")
    assert b.run("return sessionStorage.length") == 0
    sign_in(b, rest)
    assert b.run("return [location.hash, document.cookie, Object.values(localStorage).join()]")[:2] == ["#/queue", ""]
    assert rest.token("root") not in b.run("return JSON.stringify(localStorage) + location.href")
    asked = [url for url in b.requests() if not url.startswith(("about:", "chrome:", "data:"))]
    assert len(asked) > 20 and all(url.startswith(f"http://127.0.0.1:{rest.port}/") for url in asked), asked
    assert not any(rest.token("root") in url.split("#")[0] for url in asked)


# ---- pages ----

@pytest.mark.parametrize("page, title", PAGES.items())
def test_page(root, page, title):
    show(root, page, title)
    if page not in ("submit", "cluster"):
        root.until("return !/Reading|Asking/.test(document.querySelector('main').innerText)", "everything was read")
    root.shot(SHOTS / f"{page.replace('/', '-')}.png")
    assert root.run("return document.title") == f"{title} · Penstock"
    found = root.run((HERE / "accessible.js").read_text())
    root.run("document.documentElement.dataset.theme = 'dark'; document.dispatchEvent(new Event('theme'))")
    root.shot(SHOTS / f"{page.replace('/', '-')}-dark.png")
    found += [f"dark: {s}" for s in root.run((HERE / "accessible.js").read_text())]
    assert found == []
    assert root.log() == []


def test_narrow(root):
    """At the width of a phone nothing is cut off and nothing scrolls sideways but what is meant to."""
    root.size(360, 780)
    for page, title in PAGES.items():
        show(root, page, title)
        root.until("return !/Reading the|Asking/.test(document.querySelector('main').innerText)", "everything was read")
        root.shot(SHOTS / f"{page.replace('/', '-')}-phone.png")
        wide = root.run("return [...document.querySelectorAll('main *')].filter(e => e.getClientRects().length && !e.closest('.scroll-x, pre, .vbox, svg')"
                        " && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 120))")
        assert wide == [] and root.run("return document.documentElement.scrollWidth") <= 360, page
        assert root.run((HERE / "accessible.js").read_text()) == [], page


def test_what_pages_say(root, rest):
    show(root, "job/1", "Job 1")
    root.wait("main", "sleep 900")  # its script
    assert re.search(r"Asked for\s+cpu 3", root.text("main"))
    root.wait(".history", "The job was submitted.")
    root.wait(".history", "The job got its nodes")
    root.wait("main", "1.batch")
    root.wait(".meter", "of 30:00")
    show(root, "node/node1", "Node node1")
    root.wait("main", "steady")
    assert "rack1" in root.text("main") and "3 of 4 allocated" in root.text("main")
    show(root, "cluster", "Cluster")
    root.wait(".legend", "Partly used 1")
    assert "2 idle" in root.run("return document.querySelector('canvas').getAttribute('aria-label')")
    root.keys("\ue004")
    root.run("document.querySelector('canvas').focus()")
    root.keys("\ue014")
    root.wait(".told", "node1: mixed, 3 of 4 CPUs")
    assert "in rack1" in root.text(".told")
    root.keys("\ue007")
    root.wait("h1", "Node node1")
    show(root, "partitions", "Partitions")
    root.wait("main", "main")
    show(root, "usage", "Use over time")
    root.wait("figcaption", "all 12")
    show(root, "job/999999", "Job 999999")
    root.wait("[role=alert]", "Invalid job id")


def test_output(root, rest):
    """The end of a script's output: as text, while it runs and when it is over, and as far as one may see it."""
    c, tail = rest.c, "pre[aria-label='The end of its output']"
    job = c.sbatch("-J", "talks", "-o", f"{c.work}/talks", wrap=f"echo '{HOSTILE}'; until test -e {c.work}/enough; do sleep 0.1; done; echo done now")
    c.wait_state(job, "RUNNING")
    show(root, f"job/{job}", f"Job {job}")
    root.wait(tail, HOSTILE, timeout=30)
    (c.work / "enough").touch()
    root.wait(tail, "done now", timeout=30)
    assert root.run("return window.hit === undefined && document.title !== '1'")
    waits = c.sbatch("--hold", wrap="true")
    show(root, f"job/{waits}", f"Job {waits}")
    root.wait("main", "It has not begun.")
    c.run("scancel", waits)


def test_limits_of_account_and_qos(root, rest):
    """What holds my jobs: the limits of the account, and of each QOS that I may use."""
    for words in ("add qos short Description=quick MaxJobsPerUser=7 MaxWall=90 MaxTRESPerUser=cpu=11", "add qos other MaxJobsPerUser=3",
                  "add account lab", "add user root Account=lab", "modify user root where Account=lab set QOS=short MaxJobs=5"):
        rest.c.run("sacctmgr", "-i", *words.split())
    show(root, "partitions", "Partitions")
    show(root, "accounts", "My accounts")
    text = root.wait("main", "QOS short")
    assert re.search(r"Account lab .*Jobs at a time 5\b", text)
    mine = text[text.index("QOS short"):]
    for words in ("quick", "Jobs of a user at a time 7", "Longest job 1:30:00", "Of a user at a time cpu=11"):
        assert words in mine
    assert "QOS other" not in text


# ---- actions ----

def queue_id(c, name):
    return wait_until(lambda: c.run("squeue", "-h", "-n", name, "-o", "%i").out.strip(), f"there is a job {name}")


def test_submit_and_change(root, rest):
    c = rest.c
    show(root, "submit", "Submit a job")
    root.fill("Name", "from the web")
    root.fill("CPUs of a task", "2")
    root.fill("Working folder", str(c.work))
    root.fill("Time limit", "oops")
    root.press("Submit", "form")
    root.wait("[role=alert]", "“oops” is no time limit.")
    root.fill("Time limit", "0:20:00")
    root.choose("Partition", "main")
    root.fill("Script", "#!/bin/bash\nsleep 700\n")
    root.press("Submit", "form")
    root.wait(".toast", "is submitted")
    job = queue_id(c, "from the web")
    root.wait("h1", f"Job {job}")
    j = c.wait_state(job, "RUNNING")
    assert (j["NumCPUs"], j["TimeLimit"], j["WorkDir"]) == ("2", "00:20:00", str(c.work))
    root.wait(".page-head .state", "Running")
    root.press("Change")
    root.fill("Time limit", "0:10:00", "dialog")
    root.fill("Comment", "shorter <b>now</b>", "dialog")
    root.press("Change", "dialog")
    root.wait(".toast", "is changed")
    root.gone("dialog")
    j = c.job(job)
    assert j["TimeLimit"] == "00:10:00" and j["Comment"] == "shorter <b>now</b>"
    root.wait(".facts", "shorter <b>now</b>")
    root.press("Requeue")
    root.press("Requeue", "dialog")
    root.wait(".toast", "in the queue again")
    wait_until(lambda: c.job(job)["Restarts"] == "1", "it was requeued")
    root.press("Cancel")
    root.press("Cancel the job", "dialog")
    root.wait(".toast", "is being cancelled")
    assert c.wait_end(job)["JobState"] == "CANCELLED"
    root.wait(".page-head .state", "Cancelled")
    root.wait(".history", "ended")


def test_explain_and_plan(root, rest):
    c = rest.c
    job = c.sbatch("-n", "12", "--exclusive", "-t", "5", "-J", "big", wrap="true")
    show(root, f"job/{job}", f"Job {job}")
    root.wait(".sentences", f"Job {job} waits")
    told = rest.get(f"/penstock/v1/job/{job}/explain")[1]["explain"]
    root.wait(".sentences", told["sentences"][1])
    show(root, "submit", "Submit a job")
    root.fill("Tasks", "2")
    root.fill("CPUs of a task", "1")
    root.press("Plan", "form")
    root.wait(".plan", "It would start")
    root.wait(".plan", "in partition main, with 2 CPUs")
    root.fill("Tasks", "12")
    root.fill("Nodes", "3")
    root.press("Plan", "form")
    root.wait(".plan", "(in ")
    root.fill("Tasks", "1000")
    root.press("Plan", "form")
    root.wait("form", "Requested node configuration is not available")
    root.shot(SHOTS / "plan.png")
    assert c.run("squeue", "-h", "-n", "job").out == ""
    c.run("scancel", job)


def test_hold_and_release(root, rest):
    c = rest.c
    job = str(c.sbatch("-n", "12", "--exclusive", "-J", "waits", wrap="true"))
    show(root, f"job/{job}", f"Job {job}")
    root.wait(".page-head .state", "Waiting")
    root.press("Hold")
    root.press("Hold", "dialog")
    root.wait(".toast", "is held")
    assert c.job(job)["Reason"] == "JobHeldUser" or c.job(job)["Priority"] == "0"
    root.wait(".page-head .state", "Held")
    root.press("Release")
    root.press("Release", "dialog")
    root.wait(".toast", "is released")
    wait_until(lambda: c.job(job)["Priority"] != "0", "it is released")
    root.wait(".page-head .state", "Waiting")
    root.press("Change")
    root.fill("Nice", "77", "dialog")
    root.press("Change", "dialog")
    root.wait(".toast", "is changed")
    assert c.job(job)["Nice"] == "77"
    c.run("scancel", job)


def test_drain_and_resume(root, rest):
    c = rest.c
    show(root, "node/node3", "Node node3")
    root.press("Drain")
    root.fill("Reason", "fan 2 <i>loud</i>", "dialog")
    root.press("Drain", "dialog")
    root.wait(".toast", "is drained")
    assert "fan 2 <i>loud</i>" in c.run("scontrol", "-o", "show", "node", "node3").out
    assert "DRAIN" in c.run("scontrol", "-o", "show", "node", "node3").out
    root.wait(".page-head .state", "Drained")
    root.wait(".subtitle", "fan 2 <i>loud</i>")
    show(root, "cluster", "Cluster")
    root.wait(".legend", "Drained 1")
    root.shot(SHOTS / "cluster-drained.png")
    show(root, "node/node3", "Node node3")
    root.press("Resume")
    root.press("Resume", "dialog")
    root.wait(".toast", "back in service")
    c.wait_nodes(names=["node3"])
    root.wait(".page-head .state", "Idle")


def test_reservation(root, rest):
    c = rest.c
    show(root, "reservations", "Reservations")
    root.wait("main", "There are no reservations")
    root.press("Make a reservation")
    root.fill("Name", "course", "dialog")
    root.fill("Nodes", "node[2-3]", "dialog")
    root.fill("Users", "nosuchuser", "dialog")
    root.press("Make it", "dialog")
    root.wait("dialog [role=alert]", "course")
    assert c.run("scontrol", "show", "reservation", check=False).out.find("ReservationName=course") < 0
    root.fill("Users", "bin", "dialog")
    root.press("Make it", "dialog")
    root.wait(".toast", "The reservation course is made.")
    text = c.run("scontrol", "-o", "show", "reservation", "course").out
    assert "Nodes=node[2-3]" in text and "Users=bin" in text and "Duration=02:00:00" in text
    root.wait("table", "course")
    root.shot(SHOTS / "reservations-made.png")
    root.press("Delete reservation course")
    root.press("Delete", "dialog")
    root.wait(".toast", "is deleted")
    assert "course" not in c.run("scontrol", "show", "reservation", check=False).out
    root.wait("main", "There are no reservations")


# ---- who sees and may what ----

def test_two_users(b, rest):
    b.size(1280, 860)
    c = rest.c
    for user, name in (("bin", "of-bin"), ("daemon", "of-daemon")):
        status, answer = rest.post("job/submit", {"script": "#!/bin/sh\nsleep 1\n", "job": {
            "name": name, "current_working_directory": "/tmp", "environment": ["PATH=/usr/bin:/bin"], "hold": True}}, user=user)
        assert status == 200, answer
    seen = {}
    for user in ("bin", "daemon", "root"):
        sign_in(b, rest, user)
        b.until("return /\\d jobs?:/.test(document.querySelector('.total').innerText)", "the queue was read")
        seen[user] = set(b.texts(".vspace .c-name")) & {"of-bin", "of-daemon", "steady"}
    assert seen == {"bin": {"of-bin"}, "daemon": {"of-daemon"}, "root": {"of-bin", "of-daemon", "steady"}}
    sign_in(b, rest, "bin")
    other = queue_id(c, "of-daemon")
    show(b, f"job/{other}", f"Job {other}")
    b.wait("[role=alert]", "Invalid job id")
    show(b, "node/node1", "Node node1")
    b.press("Drain")
    b.fill("Reason", "because", "dialog")
    b.press("Drain", "dialog")
    b.wait("dialog [role=alert]", "Invalid user id")
    assert "DRAIN" not in c.run("scontrol", "-o", "show", "node", "node1").out
    b.shot(SHOTS / "refused.png")
    c.run("scancel", other, queue_id(c, "of-bin"))


def test_token_that_runs_out(b, rest):
    token = rest.c.run("scontrol", "token", "username=bin", "lifespan=3").out.strip().split("=", 1)[1]
    b.go("about:blank")
    b.go(f"{address(rest)}#token={token}")
    b.wait("h1", "Queue")
    b.wait("[role=alert]", "Sign in again", timeout=20)
    assert b.run("return sessionStorage.length") == 0
    b.log()


def test_word_of_the_address(b, rest):
    """What `penstock ui` prints signs in once; the word is in no history, and the token in the session alone."""
    word = word_of(rest.c, "bin")
    b.go("about:blank")
    b.go(f"{address(rest)}#word={word}")
    b.wait("h1", "Queue")
    b.wait(".who", "bin")
    assert b.run("return location.hash") == "#/queue"
    token = b.run("return sessionStorage.getItem('penstock-token')")
    assert token.startswith("eyJ") and b.run("return sessionStorage.length") == 1
    b.go("about:blank")
    b.go(f"{address(rest)}#word={word}")
    b.wait("[role=alert]", "This address was used already")
    assert b.run("return sessionStorage.length") == 0
    sign_in(b, rest, "daemon")
    b.run("location.hash = arguments[0]", f"#word={word_of(rest.c, 'bin')}")  # somebody else, in the same tab
    b.wait(".who", "bin")
    b.press("Sign out")
    b.fill("Token", rest.token("daemon"))  # ... and by hand
    b.press("Sign in")
    b.wait(".who", "daemon")
    b.wait(".live", "Live")
    b.log()


# ---- live, hostile, by hand ----

def test_live_within_a_second(root, rest):
    show(root, "queue", "Queue")
    root.wait(".live", "Live")
    root.wait(".vspace", "steady")
    job = rest.c.sbatch("-H", "-J", "brandnew", wrap="true")
    start = time.monotonic()
    root.wait(".vspace", "brandnew")
    assert time.monotonic() - start < 1 * SLOW
    rest.c.run("scancel", job)
    start = time.monotonic()
    root.until("return [...document.querySelectorAll('.vspace .vrow')].some(r => r.innerText.includes('brandnew') && r.innerText.includes('Cancelled'))",
               "it is cancelled there")
    assert time.monotonic() - start < 1 * SLOW


def test_hostile_names(root, rest):
    job = rest.c.sbatch("-H", "-J", HOSTILE, "--comment", HOSTILE, wrap="true")
    show(root, "queue", "Queue")
    root.wait(".vspace", HOSTILE)
    show(root, f"job/{job}", f"Job {job}")
    root.wait(".subtitle", HOSTILE)
    root.wait(".facts", HOSTILE)
    assert root.run("return [window.hit ?? 0, document.querySelectorAll('main img').length]") == [0, 0]
    show(root, f"node/{'%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E'}")
    root.wait("h1", "Node <img src=x onerror=alert(1)>")
    assert root.run("return document.querySelectorAll('main img').length") == 0
    rest.c.run("scancel", job)


def test_queue_by_keyboard(root, rest):
    ids = [rest.c.sbatch("-H", "-J", f"row{i}", wrap="true") for i in range(3)]
    show(root, "queue", "Queue")
    root.wait(".vspace", "row2")
    root.keys("/")
    root.keys("row")
    root.wait(".total", "3 jobs of")
    root.keys("\ue00c")  # Escape: into the list
    root.keys("jj")
    assert root.run("return document.activeElement.getAttribute('role')") == "grid"
    root.wait(".vrow.current", "row1")
    assert "row1" in root.run("const grid = document.activeElement; return document.getElementById(grid.getAttribute('aria-activedescendant')).innerText")
    root.keys("\ue007")
    root.wait("h1", f"Job {ids[1]}")
    root.keys("gc")
    root.wait("h1", "Cluster")
    root.keys("?")
    root.wait("dialog", "Keys")
    root.keys("\ue00c")
    root.gone("dialog")
    root.keys("gq")
    root.wait("h1", "Queue")
    order = []
    for _ in range(12):  # Tab walks in the order of the page, and is always to be seen
        root.keys("\ue004")
        order.append(root.run("const e = document.activeElement, s = getComputedStyle(e);"
                              "return [[...document.querySelectorAll('*')].indexOf(e), e.tagName, s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2]"))
    places = [place for place, _, _ in order]
    assert places == sorted(places) and len(set(places)) == len(places), order
    assert all(visible for _, _, visible in order), order
    root.run("const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input'))")
    rest.c.run("scancel", *ids)


def test_slurmctld_is_away(root, rest):
    """slurmctld alone is away: the page says so, on a narrow one too, and that what it shows is old; then it catches up."""
    job = rest.c.sbatch("-H", "-J", "earlier", wrap="true")
    show(root, "queue", "Queue")
    root.wait(".live", "Live")
    root.wait(".vspace", "earlier")
    assert root.run("return document.querySelector('.away-note')") is None
    rest.c.kill_ctld()
    try:
        root.wait(".live", "slurmctld is away")
        root.wait(".away-note[role=alert]", "slurmctld has not answered since")
        root.wait(".away-note", "What you see is from before that")
        root.wait(".vspace", "earlier")
        root.shot(SHOTS / "away.png")
        root.size(390, 800)
        assert root.run("const r = document.querySelector('.away-note').getBoundingClientRect();"
                        "return r.height > 0 && r.bottom <= innerHeight + 1 && r.right <= innerWidth + 1")
        assert root.run("return document.documentElement.scrollWidth <= innerWidth")
        root.size(1280, 860)
        root.run("location.reload()")  # who comes meanwhile is told what is not known
        root.wait(".away-note", "Nothing is known of its jobs")
        root.press("Sign out")
        root.wait("h1", "Penstock")
        assert root.run("return document.querySelector('.away-note')") is None
        sign_in(root, rest)
        root.wait(".away-note", "Nothing is known of its jobs")
    finally:
        root.size(1280, 860)
        rest.c.start_ctld()
    root.wait(".live", "Live")
    root.wait(".vspace", "earlier")
    assert root.run("return document.querySelector('.away-note')") is None
    rest.c.run("scancel", job)
    root.log()


def test_comes_back(root, rest):
    """slurmrestd away for a while: the page says so, and goes on by itself where it was."""
    show(root, "queue", "Queue")
    root.wait(".live", "Live")
    assert rest.daemon.stop() == 0
    root.wait(".live", "Connecting again")
    job = rest.c.sbatch("-H", "-J", "meanwhile", wrap="true")
    rest.start()
    root.wait(".vspace", "meanwhile")
    root.wait(".live", "Live")
    rest.c.run("scancel", job)
    root.broken_off()
    root.run("window.dispatchEvent(new Event('pagehide'))")  # a page that is left has no connection
    wait_until(root.broken_off, "the stream is closed")
    job = rest.c.sbatch("-H", "-J", "unseen", wrap="true")
    root.run("window.dispatchEvent(new Event('pageshow'))")
    root.wait(".vspace", "unseen")
    rest.c.run("scancel", job)
    root.log()

