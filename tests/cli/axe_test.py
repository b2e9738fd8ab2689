"""axe-core's rules on every page of the report and of the bench, in both themes, wide and narrow.

axe-core is out of the Python package axe-playwright-python, or the file that TUFF_AXE names. Without it, or without
Chromium, the test skips.
"""
import importlib.util
import json
import os
import pathlib

import browser
import harness
import report_test


def find_axe():
    if path := os.environ.get("TUFF_AXE"):
        return pathlib.Path(path)
    package = importlib.util.find_spec("axe_playwright_python")
    return package and pathlib.Path(package.submodule_search_locations[0]) / "axe.min.js"


# What a page's text is: everything that the rules of WCAG 2.1, levels A and AA, look at, and good practice.
RUN = """axe.run(document, {resultTypes: ['violations']}).then((found) => JSON.stringify(found.violations.map((rule) =>
    [rule.id, rule.help, rule.nodes.slice(0, 3).map((node) => node.html.slice(0, 200) + ' ' + node.failureSummary.slice(0, 300))])))"""


@harness.unittest.skipUnless(find_axe(), "axe_playwright_python is not installed here: this Python has no axe-core")
class Axe(report_test.Report):
    def setUp(self):
        super().setUp()
        self.axe = find_axe().read_text()

    def walk(self, path, size, pages=report_test.PAGES):
        self.browser.size(*size)
        self.browser.open(path)
        self.browser.evaluate(self.axe + "; 0")
        for theme in ["light", "dark"]:
            if self.browser.evaluate("document.documentElement.dataset.theme || 'light'") != theme:
                self.browser.click("nav button")
            for page in pages:
                self.go(page)
                with self.subTest(page=page, theme=theme, width=size[0]):
                    wrong = json.loads(self.browser.evaluate(RUN))
                    self.assertEqual(wrong, [], "\n".join(f"{rule}: {text}\n  " + "\n  ".join(nodes) for rule, text, nodes in wrong))


# The walks of the report's own tests, with axe's rules; what else they try is theirs.
for name in ["test_sorting_filtering_and_the_trace", "test_rows_lead_to_their_group_and_back", "test_without_a_roof"]:
    setattr(Axe, name, None)


def load_tests(loader, tests, pattern):
    return loader.loadTestsFromTestCase(Axe)


if __name__ == "__main__":
    harness.main()
