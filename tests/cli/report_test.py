"""The report in a browser: every page shows something, nothing is logged as an error, nothing is fetched."""
import json
import shutil

import browser
import harness
from harness import MODELS, TuffTest

DESKTOP, PHONE = (1280, 900), (390, 844)
PAGES = ["overview", "compile", "ops", "trace", "graph", "memory", "roofline", "placement", "accuracy", "environment"]


@harness.unittest.skipUnless(browser.find_chromium(), "Chromium is not installed; the report is not looked at")
class Report(TuffTest):
    def setUp(self):
        super().setUp()
        self.model = self.copy("gpt2_tiny")
        self.browser = browser.Browser(browser.find_chromium())
        self.addCleanup(self.browser.close)

    def copy(self, name):
        """A model of the tests without its weights: they are made up."""
        shutil.copytree(MODELS / name, self.folder / name, ignore=shutil.ignore_patterns("*.safetensors"))
        return self.folder / name

    def report(self, *arguments):
        path = self.folder / "report.html"
        self.tuff("profile", self.model, "--report", path, *arguments)
        return path

    def go(self, page):
        self.browser.click(f"nav a[href='#{page}']")
        self.browser.wait(f"document.querySelector('#page-{page}').style.display === ''")

    def visible(self):
        """What the page in sight shows: its text, and whether it is wider than the screen."""
        return json.loads(self.browser.evaluate("""JSON.stringify((() => {
            const pages = [...document.querySelectorAll('section.page')].filter((s) => s.style.display !== 'none');
            return {count: pages.length, id: pages[0].id, text: pages[0].innerText,
                    shapes: pages[0].querySelectorAll('svg rect, svg path, svg circle, td, canvas, dd, .fill').length,
                    wide: document.documentElement.scrollWidth > innerWidth}; })())"""))

    def walk(self, path, size, pages=PAGES):
        self.browser.size(*size)
        self.browser.open(path)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('nav a').length"), len(pages))
        for page in pages:
            with self.subTest(page=page, width=size[0]):
                self.go(page)
                shown = self.visible()
                self.assertEqual((shown["count"], shown["id"]), (1, f"page-{page}"))
                self.assertGreater(len(shown["text"]), 60)
                self.assertGreater(shown["shapes"], 0)
                for word in ["undefined", "NaN ", "NaN%", "Infinity", "[object"]:
                    self.assertNotIn(word, shown["text"])
                self.assertFalse(shown["wide"], "the page is wider than the screen")
        self.assertEqual(self.browser.errors, [])
        self.assertEqual([r for r in self.browser.requests if not r.startswith(("file:", "data:"))], [])

    def test_every_page_with_a_roof_and_a_check(self):
        self.tuff("roof", "--device", "cpu")
        path = self.report("--device", "cpu", "--check")
        for size in [DESKTOP, PHONE]:
            self.walk(path, size)

    def test_without_a_roof(self):
        self.walk(self.report("--device", "cpu"), DESKTOP)

    def test_vulkan(self):
        self.needs_vulkan()
        self.walk(self.report("--device", "vulkan"), DESKTOP)

    def test_a_training_step(self):
        self.model = self.copy("gpt2_train_tiny")
        self.walk(self.report("--device", "cpu"), PHONE)

    def test_a_bench(self):
        path = self.folder / "bench.html"
        self.tuff("bench", self.model, "--device", "cpu", "--modes", "cold", "--rounds", "2", "--burst-ms", "20", "--report", path)
        for size in [DESKTOP, PHONE]:
            self.walk(path, size, ["overview", "compile", "runs", "accuracy", "environment"])
            self.go("compile")
            self.browser.click("#page-compile details summary")  # a first run opens to its numbers
            self.assertRegex(self.visible()["text"], r"import\s+[\d.]+ (ms|µs)")
            self.assertFalse(self.visible()["wide"])

    def search(self, page, words):
        self.browser.evaluate(f"(() => {{ const i = document.querySelector('#page-{page} input'); i.value = '{words}'; i.dispatchEvent(new Event('input')); }})()")

    def test_rows_lead_to_their_group_and_back(self):
        self.browser.size(*DESKTOP)
        self.browser.open(self.report("--device", "cpu"))
        self.go("ops")
        self.search("ops", "reduce")
        name = self.browser.evaluate("document.querySelector('#page-ops tbody a').innerText")
        self.browser.click("#page-ops tbody a")
        self.browser.wait("document.querySelector('#page-graph').style.display === ''")
        group = "[...document.querySelectorAll('#page-graph .group')].filter((g) => g.querySelectorAll('details[open] pre').length > 1)"
        self.browser.wait(f"{group}.length === 1")  # its members, its text and its kernel
        self.assertIn(name, self.browser.evaluate(f"{group}[0].innerText"))
        place = self.browser.evaluate(f"{group}[0].querySelector('a').innerText")
        self.browser.evaluate(f"{group}[0].querySelector('a').click()")
        self.browser.wait("document.querySelector('#page-ops').style.display === ''")
        self.assertEqual(self.browser.evaluate("document.querySelector('#page-ops input').value"), place)
        self.assertIn(name, self.browser.evaluate("document.querySelector('#page-ops tbody').innerText"))
        self.assertEqual(self.browser.errors, [])

    def test_sorting_filtering_and_the_trace(self):
        self.browser.size(*DESKTOP)
        self.browser.open(self.report("--device", "cpu"))
        self.go("ops")
        first = "document.querySelector('#page-ops tbody tr td').innerText"
        names = "[...document.querySelectorAll('#page-ops tbody tr td:first-child')].map((c) => c.innerText)"
        self.browser.click("#page-ops th")
        self.assertEqual(self.browser.evaluate(names), sorted(self.browser.evaluate(names)))
        self.browser.click("#page-ops th")
        self.assertEqual(self.browser.evaluate(names), sorted(self.browser.evaluate(names), reverse=True))
        self.search("ops", "dot_general")
        self.assertEqual(self.browser.evaluate(first), "dot_general")

        self.go("trace")
        self.browser.wait("document.querySelector('#page-trace canvas').width > 300")  # it is drawn
        self.browser.evaluate("[...document.querySelectorAll('#page-trace button')].find((b) => b.innerText === 'One run').click()")
        # In the middle of one run there is the run itself, and below it maybe a step.
        left, top, width, height = json.loads(self.browser.evaluate(
            "(() => { const r = document.querySelector('#page-trace canvas').getBoundingClientRect(); return JSON.stringify([r.x, r.y, r.width, r.height]); })()"))
        for y in range(4, min(int(height), 800), 6):
            self.browser.press(left + width / 2, top + y)
        self.assertIn("Time", self.browser.evaluate("document.querySelector('#page-trace .details').innerText"))
        self.search("trace", "dot_general")
        self.assertRegex(self.browser.evaluate("document.querySelector('#page-trace [role=status]').innerText"), r"[1-9]\d* bars")
        self.browser.evaluate("document.querySelector('#page-trace input').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))")
        details = self.browser.evaluate("document.querySelector('#page-trace .details').innerText")
        for part in ["dot_general", "Shapes", "-> ", ".py:"]:
            self.assertIn(part, details)
        # What was found lies in the middle of its lane; the pointer over it tells the same.
        for y in range(4, min(int(height), 800), 6):
            self.browser.command("Input.dispatchMouseEvent", type="mouseMoved", x=left + width / 2, y=top + y)
            if "-> " in self.browser.evaluate("document.querySelector('#page-trace .tip').innerText"):
                break
        else:
            self.fail("no bar tells its shapes")

        self.go("graph")
        self.assertIn("return", self.browser.evaluate("document.querySelector('#page-graph pre').textContent"))
        self.browser.click("nav button")
        self.assertEqual(self.browser.evaluate("document.documentElement.dataset.theme"), "dark")
        self.assertEqual(self.browser.errors, [])


if __name__ == "__main__":
    harness.main()
