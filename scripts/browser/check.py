"""Opens a report in Chromium and uses it as a person would: what is shown, how long each step takes, what goes wrong."""
import argparse
import json
import pathlib
import sys
import time

from webdriver import Browser

MOST_BYTES = 5_000_000
MOST_SECONDS = 2.0
DOWN, RIGHT, LEFT, END, HOME, ENTER = "\ue015", "\ue014", "\ue012", "\ue010", "\ue011", "\ue007"
ROWS = "document.querySelectorAll('#tree .row').length"
ACTIVE = "document.querySelector('#tree .row.active')"


class Check:
    """One report in a browser; steps are timed and told."""

    def __init__(self, browser, page, slow):
        self.browser, self.page, self.slow, self.failed = browser, pathlib.Path(page).resolve(), slow, False

    def step(self, name, work):
        start = time.monotonic()
        try:
            work()
            seconds, fault = time.monotonic() - start, ""
            if seconds > MOST_SECONDS * self.slow:
                fault = f"  TOO SLOW, at most {MOST_SECONDS * self.slow:.1f}"
        except AssertionError as error:
            seconds, fault = time.monotonic() - start, f"  FAILED: {error}"
        self.failed |= bool(fault)
        print(f"  {seconds:6.2f} s  {name}{fault}", flush=True)

    def expect(self, text, *arguments):
        found = self.browser.script(text, *arguments)
        assert found, f"not so: {text} {arguments}"

    def load(self):
        self.browser.size(1200, 900)
        self.browser.open(self.page.as_uri())
        self.browser.wait("document.documentElement.dataset.ready === 'yes'")

    def summary(self):
        return json.loads(self.browser.script("document.getElementById('summary').textContent"))

    def points(self):
        metrics = self.summary()["metrics"]
        n = sum(value is not None for kind in ("train", "valid") for value in metrics[kind])
        assert self.browser.script("document.querySelectorAll('#curve-chart circle.point').length") == n, f"{n} points"
        if n:
            self.browser.script("document.querySelector('input[value=time]').click()")
            self.expect("document.querySelectorAll('#curve-chart circle.point').length === arguments[0]", n)
            self.browser.keys("#curve-chart", END)
            self.expect("/Epoch [\\d.]+, step/.test(document.querySelector('.readout').textContent)")
            self.expect("document.querySelectorAll('#curves tbody tr').length === arguments[0]", len(metrics["step"]))

    def click_opens(self):
        before = self.browser.script("document.querySelector('#tree .space').style.height")
        self.browser.click("#tree .row .twist")
        self.expect("document.querySelector('#row-0').getAttribute('aria-expanded') === 'true'")
        self.expect("document.querySelector('#tree .space').style.height !== arguments[0]", before)
        self.expect("document.querySelector('#row-1').getAttribute('aria-level') === '2'")
        self.browser.click("#row-0 .twist")
        self.expect("document.querySelector('#tree .space').style.height === arguments[0]", before)

    def keys_open(self):
        self.browser.keys("#tree", HOME + RIGHT + RIGHT)
        self.expect(f"{ACTIVE}.getAttribute('aria-level') === '2'")
        self.expect(f"document.getElementById('tree').getAttribute('aria-activedescendant') === {ACTIVE}.id")
        self.browser.keys("#tree", LEFT + LEFT)
        self.expect(f"{ACTIVE}.id === 'row-0' && {ACTIVE}.getAttribute('aria-expanded') === 'false'")
        self.browser.keys("#tree", END)
        self.expect(f"{ACTIVE}.getAttribute('aria-posinset') === {ACTIVE}.getAttribute('aria-setsize')")
        self.expect(f"{ACTIVE}.getBoundingClientRect().bottom <= document.getElementById('tree').getBoundingClientRect().bottom + 1")
        self.browser.keys("#tree", HOME)

    def search(self, text, topic):
        self.browser.script("document.getElementById('search').value = ''; return 1;")
        self.browser.keys("#search", text)
        self.browser.wait("/found|No topic/.test(document.getElementById('tree-status').textContent)")
        links = f"[...document.querySelectorAll('#tree a')].some(a => a.getAttribute('href') === '#topic/{topic}')"
        self.browser.wait(links, seconds=3)

    def search_word(self):
        """The strongest word of the last topic that has words finds it."""
        topic, word = self.browser.script("return loadWords().then(words => { const topic = words.total.findLastIndex(n => n > 0); "
                                          "return [topic, words.names[words.lists.of(topic)[0].id]]; });")
        self.search(word[:60], topic)
        self.expect("document.querySelector('#tree mark') !== null")

    def topic(self, topic, name):
        self.browser.click(f"#tree a[href='#topic/{topic}']")
        self.browser.wait("!document.getElementById('topic').hidden")
        shown = self.browser.script("document.querySelector('#topic h1').textContent")
        assert shown == name, f"the heading is {shown[:80]!r}"
        self.expect("document.activeElement === document.querySelector('#topic h1')")
        self.sense()

    def back(self):
        self.browser.back()
        self.browser.wait("document.getElementById('topic').hidden && !document.getElementById('overview').hidden")
        self.expect("document.querySelectorAll('#tree .row').length > 0")

    def branch(self):
        self.browser.click("#collapse")
        self.browser.click("#focus-branch")
        self.browser.wait("document.querySelectorAll('#crumbs button').length >= 2 && document.querySelectorAll('#row-1').length === 1")
        self.browser.click("#crumbs button")
        self.expect("document.querySelectorAll('#crumbs button').length === 0")

    def calibration(self):
        measured = self.summary()["calibration"]
        self.expect("document.querySelector('#calibration').hidden !== arguments[0]", measured is not None)
        kinds = [measured[kind] for kind in ("q", "p") if measured[kind]] if measured else []
        n = sum(bin["n"] > 0 for kind in kinds for bin in kind["bins"])
        self.expect("document.querySelectorAll('#calibration-chart circle.point').length === arguments[0]", n)

    def documents(self):
        docs = self.summary()["docs"]
        if docs and docs["looked_at"]:
            self.browser.script("document.querySelector('input[value=document]').click()")
            self.expect("document.querySelectorAll('#worst > li').length === Math.min(50, arguments[0])", docs["looked_at"])
            assert sum(sum(bin[1:]) for bin in docs["bins"]) == docs["looked_at"]

    def narrow(self):
        self.browser.size(400, 800)
        self.browser.wait("innerWidth === 400")
        self.expect("document.documentElement.scrollWidth <= 400")
        self.browser.size(1200, 900)

    def quiet(self):
        """No console message, no request but for the file itself."""
        messages = [entry["message"] for entry in self.browser.log("browser")]
        assert not messages, f"the console says {messages[:3]}"
        events = [json.loads(entry["message"])["message"] for entry in self.browser.log("performance")]
        sent = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        outside = [url for url in sent if not url.startswith(("data:", "blob:")) and url.split("#")[0] != self.page.as_uri()]
        assert sent and not outside, f"requests {outside[:3] or 'were not seen at all'}"
        self.expect("window.pwned === undefined")

    def sense(self):
        """No value that is none shows."""
        for words in ("undefined", "NaN", "Infinity", "[object"):
            self.expect("!document.querySelector('main').textContent.includes(arguments[0])", words)

    def run(self, searches):
        n_bytes = self.page.stat().st_size
        print(f"{self.page.name}: {n_bytes / 1e6:.2f} MB", flush=True)
        assert n_bytes < MOST_BYTES, f"{n_bytes} bytes"
        # What the browser shows at its start loads much of its own.
        self.browser.open("about:blank")
        self.browser.log("browser"), self.browser.log("performance")
        self.step("load, all sections drawn", self.load)
        self.step("the chart has its points, by time too", self.points)
        self.step("a row opens and closes by click", self.click_opens)
        self.step("and by keys", self.keys_open)
        for text, topic, name in searches:
            shown = name if len(name) < 40 else name[:40] + "…"
            self.step(f"search for {text[:20]!r} finds topic {topic}", lambda: self.search(text, topic))
            self.step(f"its page opens: {shown!r}", lambda: self.topic(topic, name))
            self.step("back", self.back)
        self.step("search for a word finds its topic", self.search_word)
        self.step("a branch alone, and all again", self.branch)
        self.step("the worst documents, by bound", self.documents)
        self.step("calibration, where it was measured", self.calibration)
        self.step("400 pixels are wide enough", self.narrow)
        self.step("no value that is none", self.sense)
        self.step("no message, no request", self.quiet)
        return not self.failed


def screenshots(browser, page, folder, topic):
    folder = pathlib.Path(folder)
    for name, dark, width, height, hash in [("light", False, 1200, 1500, ""), ("dark", True, 1200, 1500, ""), ("topic", False, 1200, 1100, f"#topic/{topic}")]:
        browser.size(width, height, dark)
        browser.open("about:blank")
        browser.open(pathlib.Path(page).resolve().as_uri() + hash)
        browser.wait("document.documentElement.dataset.ready === 'yes'")
        if not hash:
            browser.keys("#tree", HOME + RIGHT + DOWN + RIGHT)
            browser.script("return document.getElementById(arguments[0]).scrollIntoView();", {"light": "run", "dark": "curves"}[name])
        time.sleep(0.3)
        browser.screenshot(folder / f"report-{name}.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page")
    parser.add_argument("--search", nargs=3, action="append", default=[], metavar=("TEXT", "TOPIC", "NAME"), help="search TEXT, which finds TOPIC, whose name is NAME")
    parser.add_argument("--searches", help="the same from a JSON file: a list of such triples")
    parser.add_argument("--slow", type=float, default=1.0, help="times as slow as a step may be")
    parser.add_argument("--screenshots", help="folder for pictures")
    parser.add_argument("--picture-topic", default="0")
    args = parser.parse_args()
    searches = args.search + (json.loads(pathlib.Path(args.searches).read_text()) if args.searches else [])
    with Browser() as browser:
        right = Check(browser, args.page, args.slow).run(searches)
        if args.screenshots:
            screenshots(browser, args.page, args.screenshots, args.picture_topic)
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
