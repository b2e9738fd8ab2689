// Runs the cases of a conformance manifest (format: the suite's README) with any
// runner: the evaluator, a device, a whole command line.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frontend/conformance/compare.h"
#include "ir/graph.h"

namespace tuff::conformance {

struct Array {
  std::string file;  // relative to the manifest's folder
  std::string name;  // of the argument or result; empty: the next one
  std::string dtype;
  Shape shape;
  Tolerance tolerance;  // expected arrays only
};

struct Case {
  std::string name, family, op, group;
  std::vector<std::string> tags;
  std::vector<std::string> dtypes;  // of inputs and outputs, MLIR spelling
  std::string file;                 // MLIR text
  std::string bytecode;             // portable artifact; may be empty
  std::vector<Array> inputs, expected;
  std::vector<std::string> empty;  // inputs that are sequences without a tensor
  bool import_only = false;
  int64_t processes = 1;  // that run the program together
};

struct Manifest {
  std::string suite;
  std::string folder;
  std::vector<Case> cases;
};

// Reads FOLDER/manifest.json, or the manifest file itself; arrays and modules lie
// in the folder `cases_folder`, or beside the manifest if that is empty.
Result<Manifest> load_manifest(const std::string& path, const std::string& cases_folder = {});

using Runner =
    std::function<Result<std::vector<Literal>>(const Graph&, const std::vector<Literal>&)>;

enum class Form { kText, kBytecode };

enum class Outcome {
  kStrict,       // every element passes strictly
  kTolerant,     // every element passes, not all strictly
  kMismatch,     // outputs differ in type, number or value
  kNotImported,  // the module or an array does not read
  kUnsupported,  // import or run says kUnsupported
  kRunFailed,
};

const char* outcome_name(Outcome outcome);
inline bool passes(Outcome outcome) {
  return outcome == Outcome::kStrict || outcome == Outcome::kTolerant;
}

struct CaseResult {
  std::string name;
  Outcome outcome = Outcome::kRunFailed;
  std::string detail;  // a sentence for everything but kStrict
};

CaseResult run_case(const Manifest& manifest, const Case& test, const Runner& runner,
                    Form form = Form::kText);

}  // namespace tuff::conformance
