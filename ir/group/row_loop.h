// A counted while whose rows do not know of each other: a recurrent network over a batch, say. A
// row's state stays with the lanes of one workgroup from the first round to the last.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "ir/caps.h"
#include "ir/graph.h"
#include "ir/index/view_map.h"
#include "ir/support/parts.h"

namespace tuff {

struct RowLoop {
  // Integers that are start + step * round.
  struct RoundCount {
    int64_t start = 0, step = 0;
  };
  // What a carried value is.
  enum class Carry : uint8_t {
    kSame,   // the same in all rounds, and read at any place
    kCount,  // an integer that counts rounds
    kRow,    // [rows, length]: a row's elements are computed from this row's only
    kStack,  // [rounds, rows, length]: each round stores one of its slices, nothing else reads it
  };
  // A value [rows, length] whose elements all lanes of a row need, as the operand of products.
  struct Vector {
    Value value;  // of the body
    int64_t length = 0;
    // The stage of a round in which it is computed; -1: it is carried.
    int64_t stage = 0;
  };
  // A row of a dot_general's result as it is needed: element `index` of it for each column, where
  // the operand on the row's side is a vector and the other one does not change.
  struct Product {
    uint32_t node = 0;
    IndexVector index;
    size_t vector = 0;
    size_t weights_operand = 1;
    IndexVector weights;  // the element that goes with the column and step `k`
    IndexExpr k;
    int64_t depth = 0;
    int64_t length = 0;  // columns
  };
  // A stack's slice of a round.
  struct Slice {
    Value update;
    IndexVector index;  // of the row's element at the column
    RoundCount at;
  };
  // An element that is read, where is known as a round begins, on the way to a carried value or,
  // numbered after these, to a vector.
  struct Load {
    size_t root = 0;
    Value value;
    IndexVector index;
  };

  Shape rows;
  int64_t rounds = 0;
  std::vector<Carry> carries;
  std::map<uint32_t, RoundCount> counts;  // by carried value
  std::map<uint32_t, Slice> slices;       // by carried value
  IndexVector row;                        // a variable per dimension of rows
  std::map<int64_t, IndexExpr> columns;   // by length: the variable of the last dimension
  std::vector<Vector> vectors;
  std::vector<Product> products;
  std::vector<Load> loads;
  // Carried values and, numbered after these, vectors, with the products they are computed from.
  std::vector<std::pair<size_t, size_t>> needs;
  int64_t stages = 0;

  bool needs_products(size_t root) const {
    return std::any_of(needs.begin(), needs.end(),
                       [root](const auto& need) { return need.first == root; });
  }
  // The elements of the longest rows.
  int64_t longest() const { return columns.rbegin()->first; }

  // Where there are no products, an element is computed from what is at its own place alone: the
  // lanes of a workgroup have elements one after another, of whatever rows. Else they share a row:
  // a lane has the columns that are its number, and that plus multiples of `lanes`.
  bool elementwise = false;
  int64_t lanes = 1;
  int64_t elements() const { return num_elements(rows) * longest(); }
  int64_t workgroups() const {
    return elementwise ? ceil_div(elements(), lanes) : num_elements(rows);
  }
  // Elements of a row of that length that a lane has.
  int64_t chunks(int64_t length) const { return elementwise ? 1 : ceil_div(length, lanes); }
};

// Nothing where the while is no such loop, or has too much work for the lanes of a workgroup.
// Variables live in `context`. `loop` is a while of `graph` that knows its trip count.
std::optional<RowLoop> find_row_loop(IndexContext& context, const Graph& graph, const Node& loop,
                                     const Caps& caps);

}  // namespace tuff
