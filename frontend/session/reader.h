// What a reader is: a function from the bytes of one format to a Model; readers.def has a row
// for each. A reader sees this header, ir/ and its own folder, so that foreign types stop there.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend/kernel_code.h"
#include "frontend/weights/seeded.h"
#include "ir/graph.h"

namespace tuff {

// What a path names, before anybody knows its format. Immutable.
struct ModelBytes {
  std::string path;        // where the bytes are from: for messages, and for what lies beside
  std::string_view bytes;  // none of a directory
  std::shared_ptr<const void> owner;  // keeps the bytes: a Literal may be a view on them. Null
                                      // where the caller keeps them
  bool is_directory = false;

  // Signs of a format.
  bool begins(std::string_view sign, size_t at = 0) const;
  bool named(std::string_view extension) const;         // the path ends in it
  bool holds(const char* file) const;                   // a directory with this file
  bool is_text() const;                                 // no control characters at its start
  bool zips(std::string_view end_of_first_name) const;  // a zip whose first entry ends so
};

// One argument of a model.
struct ModelArgument {
  std::string name;                // what a user calls it
  bool is_weight = false;          // comes with the model; else a user's input
  std::optional<SeededInit> init;  // of a weight without a file: its value follows from its name
  std::optional<Literal> value;    // read with the model; has the argument's type
  bool is_fixed = false;           // the graph holds for `value` only: a shape follows from it
};

// A result whose length along a dimension the data says: the graph's output is as long as it can
// be, and another output says how many elements of it count.
struct CountedResult {
  size_t result = 0;
  int64_t dimension = 0;
  size_t count = 0;  // output of the graph, one i64
};

// A model as its reader leaves it: what to compute, and what is known of its arguments. Lists
// are as long as the graph's, by the graph's own names where the format knows no other.
struct Model {
  std::string path;          // as the user gave it
  std::string_view format;   // its name in readers.def
  std::string module_path;   // the file that the graph is from
  std::string weights_path;  // a file with the weights by name; empty: there is none
  std::string inputs_path;   // a folder with a NAME.npy for inputs; empty: there is none
  Graph graph;
  std::vector<ModelArgument> arguments;  // one per parameter
  std::vector<std::string> results;      // names, one per output
  // Element types to the user: of complex ones and small ones the graph has their parts (as_parts).
  // Empty: all are the graph's.
  std::vector<DType> argument_dtypes, result_dtypes;
  std::vector<CountedResult> counted;  // their counts are the last outputs
  // Of a saved program: its kernels, and the device that they were made for. Null: none.
  KernelCodePtr code;
  std::string made_for;
};

// The types as the model's user sees them.
inline TensorType argument_type(const Model& model, size_t i) {
  const TensorType& type = model.graph.node(static_cast<uint32_t>(i)).types[0];
  return i < model.argument_dtypes.size() ? from_parts(type, model.argument_dtypes[i]) : type;
}
inline TensorType result_type(const Model& model, size_t i) {
  const TensorType& type = model.graph.type(model.graph.outputs()[i]);
  return i < model.result_dtypes.size() ? from_parts(type, model.result_dtypes[i]) : type;
}

// Shapes for the arguments whose sizes a model leaves open (tensor<?x4xf32>, as a polymorphic
// export has them), by the argument's name, "argI" or "I" for its number.
using ArgumentShapes = std::map<std::string, Shape>;
// Where they come from. Asked by readers that meet open sizes, and by no others: those that are
// given to a model without any are an error, which read_model finds.
class AskShapes {
 public:
  using Shapes = std::function<Result<ArgumentShapes>()>;
  using Values =
      std::function<Result<std::optional<Literal>>(const std::string& name, size_t index)>;
  template <typename F>
  requires std::is_invocable_r_v<Result<ArgumentShapes>, F> AskShapes(
      F shapes, Values value = nullptr)  // NOLINT: implicit on purpose
      : value(std::move(value)), shapes_(std::move(shapes)) {}

  Result<ArgumentShapes> operator()() const { return shapes_(); }
  // The value of an input from which a shape follows; nothing where none is given. May be empty.
  Values value;
  // Where the user gave a shape, for messages: "--shape x=2x64". Empty: none is given.
  std::string given;
  // What stands before "x=2x64" where the user gives a shape, for messages: the command's option.
  std::string shape_option;

 private:
  Shapes shapes_;
};

// Errors of a reader: kBadInput with the place in the file, kUnsupported with the operation and
// its place in the model's source. It may leave paths, arguments and results empty.
using ReadModel = Result<Model>(const ModelBytes& bytes, const AskShapes& shapes);

// One row of readers.def.
struct ModelFormat {
  const char* name;  // "StableHLO bytecode"
  bool (*matches)(const ModelBytes& file);
  ReadModel* read;     // null: the format is known, but not read
  const char* advice;  // a sentence that says so, and what to do instead; null iff it is read
};

}  // namespace tuff
