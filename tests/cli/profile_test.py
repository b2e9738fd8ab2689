"""tuff profile and tuff roof: sums that must hold, the trace's format, the report as a file."""
import json
import shutil

import harness
from harness import MODELS, TuffTest

KEYS = {"format", "environment", "model", "first_ms", "phases_ms", "second_ms", "steady_ms", "timed_ms", "steps_ms", "steps",
        "regions", "kernels", "memory", "outputs", "repeatable"}


# A series in f64, which no shader has.
SERIES = """func.func public @main(%arg0: tensor<4x4xf64>) -> tensor<4x4xf64> {
  %0 = stablehlo.exponential %arg0 : tensor<4x4xf64>
  %1 = stablehlo.sqrt %0 : tensor<4x4xf64>
  return %1 : tensor<4x4xf64>
}
"""


class Profiled(TuffTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "gpt2_tiny"
        shutil.copytree(MODELS / "gpt2_tiny", self.model, ignore=shutil.ignore_patterns("*.safetensors"))

    def profile(self, device, *arguments):
        return json.loads(self.tuff("profile", self.model, "--device", device, "--json", *arguments).stdout)

    def check_profile(self, device):
        profile = self.profile(device)
        self.assertLessEqual(KEYS, set(profile))
        self.assertTrue(profile["repeatable"])
        self.assertLessEqual(sum(profile["phases_ms"].values()), profile["first_ms"])
        self.assertGreater(profile["steps_ms"], 0)
        self.check_sums(profile)
        for step in profile["steps"]:
            self.assertGreater(step["ms"], 0, step)
            self.assertEqual(step["runs"], 1)
            self.assertGreater(step["read_bytes"] + step["written_bytes"], 0)
            self.assertRegex(step["shapes"], r"-> [\dx]*f32")
        self.assertIn("dot_general", {s["op"] for s in profile["steps"]})
        memory = profile["memory"]
        for t in memory["temporaries"]:
            self.assertLessEqual(t["offset_bytes"] + t["size_bytes"], memory["arena_bytes"])
            self.assertLessEqual(t["first"], t["last"])
        return profile

    def check_sums(self, profile):
        """Steps and what is outside of them are all of one run, whatever that took."""
        steps, outside = sum(s["ms"] for s in profile["steps"]), sum(part["ms"] for part in profile["outside"])
        self.assertAlmostEqual(steps / profile["steps_ms"], 1, places=9)
        self.assertAlmostEqual((steps + outside) / profile["timed_ms"]["typical"], 1, places=9)
        self.assertLessEqual(profile["timed_ms"]["min"], profile["timed_ms"]["typical"])
        names = [part["name"] for part in profile["outside"]]
        self.assertLessEqual(set(names), {"submit and wait", "read back", "read timestamps", "host"})
        self.assertEqual("submit and wait" in names, profile["environment"]["gpu"])

    def test_cpu(self):
        profile = self.check_profile("cpu")
        self.assertTrue(all(k["text"].startswith("kernel") for k in profile["kernels"]))

    def test_vulkan(self):
        self.needs_vulkan()
        profile = self.check_profile("vulkan")
        self.assertTrue(all("void main" in k["text"] for k in profile["kernels"]))
        self.assertEqual({k["origin"] for k in profile["kernels"]}, {"compiled"})
        self.assertEqual({k["origin"] for k in self.profile("vulkan")["kernels"]}, {"disk"})

    def test_hosted_steps_are_timed(self):
        self.needs_vulkan()
        self.model = self.write("series.mlir", SERIES)
        profile = self.profile("vulkan")
        self.check_sums(profile)
        hosted = [s for s in profile["steps"] if s.get("host")]
        self.assertEqual([(s["op"], s["category"]) for s in hosted], [("exponential", "hosted")])
        self.assertGreater(hosted[0]["ms"], 0)
        self.assertRegex(self.tuff("profile", self.model, "--device", "vulkan").stdout, r"host +exponential")

    def test_the_report_asks_the_driver(self):
        self.needs_vulkan()
        profile = self.profile("vulkan:0", "--repeat", "1", "--report", self.folder / "r.html")
        told = ["driver" in kernel for kernel in profile["kernels"]]
        if profile["no_driver_kernels"]:
            self.assertIn("does not tell what its compiler makes", profile["no_driver_kernels"])
            self.assertFalse(any(told))
        else:
            self.assertTrue(all(told))

    def test_text(self):
        text = self.tuff("profile", self.model, "--device", "cpu", "--check").stdout
        for part in ["device  cpu", "first", "phases", "not measured on this device", "dot_general"]:
            self.assertIn(part, text)

    def test_refused(self):
        self.refused("profile", self.model, "--device", "reference", code=2, says="reference evaluator")
        self.refused("profile", self.model, "--repeat", "0", code=2, says="--repeat")
        self.refused("profile", self.model, "--device", "cpu", "--report", self.folder / "none" / "r.html", code=1, says="r.html")

    def test_roof_is_used(self):
        roof = json.loads(self.tuff("roof", "--device", "cpu", "--json").stdout)
        self.assertGreater(roof["f32_gflops"], 0)
        profile = self.profile("cpu")
        self.assertEqual(profile["roof"]["f32_gflops"], roof["f32_gflops"])
        self.assertIn("roof    ", self.tuff("profile", self.model, "--device", "cpu").stdout)

    def test_report(self):
        path = self.folder / "report.html"
        self.tuff("profile", self.model, "--device", "cpu", "--report", path)
        page = path.read_text()
        self.assertLess(len(page), 5 << 20)
        for address in ["http://", "https://"]:
            outside = [page[i:i + 60] for i in range(len(page)) if page.startswith(address, i)]
            self.assertEqual([o for o in outside if not o.startswith("http://www.w3.org/2000/svg")], [])
        start = page.index('id="data">') + len('id="data">')
        data = json.loads(page[start:page.index("</script>", start)])
        self.assertEqual(data["profile"]["format"], "tuff-profile-1")


class Trace(Profiled):
    def trace(self, device):
        path = self.folder / "trace.json"
        self.tuff("profile", self.model, "--device", device, "--trace", path, "--repeat", "3")
        return json.loads(path.read_text())

    def validate(self, trace):
        """The trace event format, for the kinds of events that tuff writes."""
        self.assertIn(trace["displayTimeUnit"], ["ms", "ns"])
        threads = {}
        for event in trace["traceEvents"]:
            self.assertIsInstance(event["name"], str)
            self.assertIsInstance(event["pid"], int)
            self.assertIsInstance(event["tid"], int)
            self.assertIn(event["ph"], ["X", "M"])
            if event["ph"] == "M":
                self.assertIn(event["name"], ["process_name", "thread_name"])
                self.assertIsInstance(event["args"]["name"], str)
                continue
            self.assertIsInstance(event["cat"], str)
            self.assertGreaterEqual(event["ts"], 0, event)
            self.assertGreaterEqual(event["dur"], 0, event)
            threads.setdefault((event["pid"], event["tid"]), []).append(event)
        # Complete events of a thread nest: one that starts inside another ends inside it too.
        rounding = 1e-3
        for events in threads.values():
            open_until = []
            for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
                while open_until and open_until[-1] <= event["ts"] + rounding:
                    open_until.pop()
                end = event["ts"] + event["dur"]
                if open_until:
                    self.assertLessEqual(end, open_until[-1] + rounding, event)
                open_until.append(end)
        return threads

    def check_trace(self, device):
        trace = self.trace(device)
        threads = self.validate(trace)
        named = {(e["pid"], e["tid"]) for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
        self.assertLessEqual(set(threads), named)
        host = {e["name"] for e in threads[(1, 0)]}
        self.assertLessEqual({"import", "group", "lower", "plan", "upload", "first run", "timed run 1", "download"}, host)
        steps = threads[(2, 0)]
        runs = [e for e in threads[(1, 0)] if e["name"].startswith("timed run")]
        self.assertEqual(len(runs), 3)
        self.assertEqual(len(steps) % 3, 0)
        self.assertGreater(len(steps), 0)
        for step in steps:
            self.assertTrue(any(r["ts"] <= step["ts"] and step["ts"] + step["dur"] <= r["ts"] + r["dur"] for r in runs), step)
            self.assertLessEqual({"label", "ops", "shapes", "step"}, set(step["args"]))
            self.assertRegex(step["args"]["shapes"], r"-> [\dx]*f32")
        return threads

    def test_cpu(self):
        self.check_trace("cpu")

    def test_vulkan(self):
        self.needs_vulkan()
        workers = {e["cat"] for key, events in self.check_trace("vulkan").items() if key[0] == 1 for e in events}
        self.assertLessEqual({"emit", "glsl", "pipelines"}, workers)


if __name__ == "__main__":
    harness.main()
