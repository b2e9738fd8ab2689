#include "frontend/check/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "frontend/weights/file.h"

namespace tuff::check {

namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

// A software device takes so many times as long.
constexpr int kSoftwarePatience = 3;

// Products that are measured here, by llama.cpp's own benchmark and by the other peers.
struct Product {
  int64_t m, n, k;
  const char* dtype;
  bool large = false;  // no pastime for a software device
};
constexpr Product kProducts[] = {
    {1024, 1024, 1024, "f32"}, {1024, 1024, 1024, "f16"},       {2, 2304, 768, "f32"},
    {1, 4096, 4096, "f32"},    {1, 4096, 14336, "f32"},         {1, 4096, 14336, "f16"},
    {8, 4096, 14336, "f16"},   {512, 4096, 14336, "f32", true}, {512, 4096, 14336, "f16", true}};

std::string name_of(const Product& p) { return fmt::format("{}x{}x{}_{}", p.m, p.n, p.k, p.dtype); }

// C = A B^T: weights lie as networks keep them.
std::string text_of(const Product& p) {
  std::string a = fmt::format("tensor<{}x{}x{}>", p.m, p.k, p.dtype);
  std::string b = fmt::format("tensor<{}x{}x{}>", p.n, p.k, p.dtype);
  std::string c = fmt::format("tensor<{}x{}xf32>", p.m, p.n);
  return fmt::format(
      "func.func public @main(%a: {0}, %b: {1}) -> {2} {{\n"
      "  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : ({0}, {1}) -> {2}\n"
      "  return %r : {2}\n}}\n",
      a, b, c);
}

// A layer with a softmax behind it: small enough for the evaluator, and none of its sizes fits.
constexpr const char* kSelfTestModel =
    "func.func public @main(%x: tensor<37x129xf32>, %w: tensor<129x67xf32>) -> tensor<37x67xf32> "
    "{\n"
    "  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
    "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<37x129xf32>, "
    "tensor<129x67xf32>) -> tensor<37x67xf32>\n"
    "  %m = stablehlo.reduce(%h init: %low) applies stablehlo.maximum across dimensions = [1] : "
    "(tensor<37x67xf32>, tensor<f32>) -> tensor<37xf32>\n"
    "  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<37xf32>) -> tensor<37x67xf32>\n"
    "  %s = stablehlo.subtract %h, %mb : tensor<37x67xf32>\n"
    "  %e = stablehlo.exponential %s : tensor<37x67xf32>\n"
    "  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : "
    "(tensor<37x67xf32>, tensor<f32>) -> tensor<37xf32>\n"
    "  %tb = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<37xf32>) -> tensor<37x67xf32>\n"
    "  %r = stablehlo.divide %e, %tb : tensor<37x67xf32>\n"
    "  return %r : tensor<37x67xf32>\n}\n";

std::string judge_check(const Json& json) {
  if (!json.is_object() || !json.contains("check")) return "It says nothing of the numbers.";
  if (json["check"].value("within", false)) return "";
  return "Its numbers differ from the reference evaluator's: " + json["check"].dump();
}

std::string judge_repeatable(const Json& json) {
  if (!json.is_object()) return "It did not write its object.";
  return json.value("repeatable", false) ? "" : "Its runs differ from each other.";
}

std::string judge_object(const Json& json) {
  return json.is_object() ? "" : "It did not write its object.";
}

// As a shell finds a program.
bool in_path(const std::string& program) {
  std::error_code ignored;
  if (program.find('/') != std::string::npos) return fs::exists(program, ignored);
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (fs::exists(fs::path(folder) / program, ignored)) return true;
  return false;
}

// Elements of all arguments, as a bundle's signature tells; 0 where it does not.
double elements_of(const std::string& bundle) {
  Result<std::string> text = read_file(bundle + "/signature.json");
  Json signature = text.ok() ? Json::parse(*text, nullptr, false) : Json();
  if (!signature.is_object() || !signature.value("arguments", Json()).is_array()) return 0;
  double all = 0;
  for (const Json& argument : signature["arguments"]) {
    double elements = 1;
    if (argument.is_object() && argument.value("shape", Json()).is_array())
      for (const Json& extent : argument["shape"])
        elements *= extent.is_number() ? extent.get<double>() : 1;
    all += elements;
  }
  return all;
}

// Small ones first: they say most in what time there is.
std::vector<std::string> bundles_in(const std::string& directory) {
  std::vector<std::pair<double, std::string>> bundles;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored))
    if (fs::exists(entry.path() / "signature.json", ignored))
      bundles.emplace_back(elements_of(entry.path().string()), entry.path().string());
  std::sort(bundles.begin(), bundles.end());
  std::vector<std::string> paths;
  for (const auto& [size, path] : bundles) paths.push_back(path);
  return paths;
}

// A software device is slow, and its runs are alike.
std::vector<std::string> profile_words(const std::string& model, const Found& found) {
  std::vector<std::string> words = {"profile", model, "--json"};
  if (found.software) words.insert(words.end(), {"--repeat", "2"});
  return words;
}

class Parts {
 public:
  Parts(const CheckOptions& options, const Found& found) : options_(options), found_(found) {}

  void add(Part part, int limit_s) {
    if (found_.device.empty() && part.skip.empty()) part.skip = found_.why_not;
    part.limit = seconds(found_.software ? limit_s * kSoftwarePatience : limit_s);
    if (options_.part_seconds > 0)
      part.limit = seconds(std::max<int64_t>(1, static_cast<int64_t>(options_.part_seconds)));
    parts_.push_back(std::move(part));
  }

  // tuff COMMAND ... --device D
  std::vector<std::string> tuff(std::vector<std::string> words) const {
    words.insert(words.begin(), options_.self);
    words.insert(words.end(), {"--device", found_.device});
    return words;
  }

  std::vector<Part> take() { return std::move(parts_); }

 private:
  const CheckOptions& options_;
  const Found& found_;
  std::vector<Part> parts_;
};

void add_correctness(const CheckOptions& options, Parts& parts) {
  Part self_test{.name = "self-test",
                 .what =
                     "opens the device, which tests its driver, and compares a small model "
                     "with the reference evaluator"};
  std::string path = options.directory + "/self_test.mlir";
  if (Status written = write_file(path, kSelfTestModel); !written.ok())
    self_test.skip = written.error().to_string();
  self_test.command = parts.tuff({"profile", path, "--check", "--repeat", "1", "--json"});
  self_test.judge = judge_check;
  parts.add(std::move(self_test), 120);
  parts.add({.name = "verdict",
             .what = "what the self-test has found wrong and turned off",
             .command = {options.self, "devices", "--json"},
             .judge = judge_object},
            30);
}

void add_tables(const CheckOptions& options, Parts& parts, const std::string& device) {
  Part tables{.name = "op tables",
              .what = "every operation over awkward shapes, against the reference evaluator"};
  tables.command = {options.op_tables, "--gtest_filter=*vulkan*", "--gtest_brief=1"};
  if (!options.tables.empty()) tables.command.push_back("--tables=" + options.tables);
  if (options.op_tables.empty()) tables.skip = "Its program is not here.";
  if (device != "vulkan:0") tables.skip = "It tests vulkan:0 only.";
  parts.add(std::move(tables), 180);
  for (const char* suite : {"stablehlo", "fuzz"}) {
    Part part{.name = fmt::format("conformance {}", suite),
              .what = "every tenth case of a suite from elsewhere"};
    std::string manifest = options.conformance + "/" + suite + "/manifest.json";
    part.command = parts.tuff({"test", manifest, "--every", "10", "--allow-unsupported"});
    if (options.conformance.empty() || !fs::exists(manifest))
      part.skip = "The suite is not here; --conformance names its folder.";
    parts.add(std::move(part), 90);
  }
}

void add_models(const CheckOptions& options, const Found& found, Parts& parts) {
  std::vector<std::string> bundles = bundles_in(options.models);
  if (bundles.empty())
    parts.add({.name = "models",
               .what = "first, second and steady runs",
               .skip = "There are no models; --models names a folder of bundles."},
              1);
  for (const std::string& path : bundles)
    parts.add({.name = "model " + fs::path(path).filename().string(),
               .what = "first, second and steady runs, memory, what the host did",
               .command = parts.tuff(profile_words(path, found)),
               .judge = judge_repeatable},
              60);
  for (const std::string& path : bundles)
    parts.add({.name = "driver " + fs::path(path).filename().string(),
               .what = "what the driver's compiler made of its kernels",
               .command = parts.tuff({"explain", path, "--after", "driver", "--json"}),
               .judge = judge_object},
              45);
}

void add_products(const CheckOptions& options, const Found& found, Parts& parts) {
  for (const Product& product : kProducts) {
    if (product.large && found.software) continue;
    std::string name = name_of(product), path = options.directory + "/" + name + ".mlir";
    Part part{.name = "product " + name,
              .what = "rows x columns x steps, as the peers measure them",
              .command = parts.tuff(profile_words(path, found)),
              .judge = judge_repeatable};
    if (Status written = write_file(path, text_of(product)); !written.ok())
      part.skip = written.error().to_string();
    parts.add(std::move(part), 30);
  }
}

void add_peers(const CheckOptions& options, const Found& found, Parts& parts) {
  std::string list;
  for (const Product& product : kProducts)
    if (!product.large || !found.software) list += (list.empty() ? "" : ",") + name_of(product);
  Part peers{.name = "peers",
             .what =
                 "the same products by JAX and torch on their GPU backends, and llama.cpp's "
                 "own benchmark on Vulkan, where they are installed"};
  std::string script = options.bench + "/protocol/products.py";
  peers.command = {options.python, "-B", script, list};
  if (!fs::exists(script)) peers.skip = "Their script is not here.";
  if (!in_path(options.python)) peers.skip = "There is no Python; --python names one.";
  parts.add(std::move(peers), 120);
}

}  // namespace

Found find_device(const Json& devices, const std::string& asked) {
  Found found;
  found.why_not = "No Vulkan device is usable.";
  if (!devices.is_object() || !devices.contains("devices")) {
    found.why_not = "The Vulkan devices could not be listed.";
    return found;
  }
  for (const Json& device : devices["devices"]) {
    std::string id = device.value("id", ""), type = device.value("type", "");
    if (!id.starts_with("vulkan") || (asked != "vulkan" && asked != id)) continue;
    if (!device.value("usable", false)) {
      found.why_not = fmt::format("The device ({}) is not usable: {}", device.value("name", ""),
                                  device.value("why_not", ""));
      continue;
    }
    if (!found.device.empty() && type == "software") continue;
    if (!found.device.empty() && !found.software) continue;  // the first one of hardware
    found.device = id;
    found.software = type == "software";
  }
  return found;
}

std::vector<Part> first_parts(const CheckOptions& options) {
  auto limit = seconds(options.part_seconds > 0 ? static_cast<int64_t>(options.part_seconds) : 60);
  return {{.name = "doctor",
           .what = "why a GPU is or is not used",
           .command = {options.self, "doctor"},
           .limit = limit},
          {.name = "devices",
           .what = "what drivers say of their devices",
           .command = {options.self, "devices", "--json"},
           .limit = limit,
           .judge = judge_object}};
}

// Right first, then fast: what hangs takes the time of what comes after it.
std::vector<Part> device_parts(const CheckOptions& options, const Found& found) {
  Parts parts(options, found);
  add_correctness(options, parts);
  add_tables(options, parts, found.device);
  parts.add({.name = "roof",
             .what = "copies, products in f32 and f16, dispatches and submissions at best",
             .command = parts.tuff({"roof", "--json"}),
             .judge = judge_object},
            60);
  add_products(options, found, parts);
  add_models(options, found, parts);
  add_peers(options, found, parts);
  return parts.take();
}

}  // namespace tuff::check
