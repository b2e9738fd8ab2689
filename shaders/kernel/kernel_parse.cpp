#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "shaders/kernel/kernel_scan.h"
#include "shaders/kernel/kernel_text.h"

namespace tuff {

namespace {

// Deeper nesting than any builder makes; bounds the recursion on hostile text.
constexpr int kMaxDepth = 64;
// Users of a kernel keep tables by value number; hostile text must not make them huge.
constexpr uint32_t kMaxValues = 1 << 24;
// No device has room for as many parameters of a dispatch.
constexpr uint32_t kMaxParams = 1 << 14;

// Recursive descent over KernelScanner. The scanner keeps the first error and
// then answers with empty tokens, so functions check only where they loop.
class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : in_(text, file) {}

  Result<Kernel> parse() {
    in_.expect("kernel");
    kernel_.family = in_.word();
    in_.expect("lanes");
    kernel_.lanes = in_.integer<int64_t>();
    in_.expect("params");
    kernel_.num_params = in_.integer<uint32_t>();
    if (kernel_.num_params > kMaxParams) in_.fail("a kernel has at most 16384 parameters");
    in_.expect("{");
    declarations();
    in_.expect("grid");
    while (in_.ok() && !in_.at("{")) {
      GridLoop loop;
      loop.var = define(DType::kI32);
      in_.expect("<");
      loop.extent = operand();
      kernel_.grid.push_back(loop);
      if (!in_.at("{")) in_.expect(",");
    }
    kernel_.body = block();
    in_.expect("}");
    if (in_.ok() && !in_.at_end()) in_.fail("the end of the text is expected");
    if (!in_.ok()) return in_.take_error();
    return std::move(kernel_);
  }

 private:
  void declarations() {
    while (in_.ok()) {
      if (in_.accept("buffer"))
        buffer();
      else if (in_.accept("register"))
        array(Scope::kRegister);
      else if (in_.accept("shared"))
        array(Scope::kShared);
      else if (in_.accept("matrices"))
        matrices();
      else
        return;
    }
  }

  void buffer() {
    BufferDecl decl;
    if (in_.numbered("b") != kernel_.buffers.size()) in_.fail("buffers are numbered in order");
    in_.expect(":");
    decl.dtype = dtype();
    if (in_.accept("write"))
      decl.access = Access::kWrite;
    else if (in_.accept("readwrite"))
      decl.access = Access::kReadWrite;
    else
      in_.expect("read");
    decl.by_address = in_.accept("address");
    decl.aliased = in_.accept("aliased");
    if (in_.accept("words")) decl.per_word = in_.integer<int64_t>();
    kernel_.buffers.push_back(decl);
  }

  void array(Scope scope) {
    ArrayDecl decl;
    decl.scope = scope;
    if (in_.numbered(scope == Scope::kShared ? "s" : "r") != kernel_.arrays.size())
      in_.fail("arrays are numbered in order, registers and shared ones together");
    in_.expect(":");
    decl.dtype = dtype();
    in_.expect("[");
    decl.count = in_.integer<int64_t>();
    in_.expect("]");
    kernel_.arrays.push_back(decl);
  }

  void matrices() {
    SubgroupMatrices m;
    m.shape.element = dtype();
    m.shape.sum = dtype();
    auto size = [this](const char* name) {
      in_.expect(name);
      return in_.integer<int64_t>();
    };
    m.shape.m = size("m");
    m.shape.n = size("n");
    m.shape.k = size("k");
    m.subgroup = size("subgroup");
    m.rows = size("rows");
    m.columns = size("columns");
    m.across = size("across");
    m.depth = size("depth");
    m.a_along_k = size("a_along_k") != 0;
    m.a_pitch = size("a_pitch");
    m.b_along_k = size("b_along_k") != 0;
    m.b_pitch = size("b_pitch");
    kernel_.matrices = m;
  }

  DType dtype() {
    std::string name = in_.word();
    Result<DType> parsed = parse_dtype(name);
    if (!parsed.ok()) in_.fail(fmt::format("an element type is expected ({})", name));
    return parsed.ok() ? *parsed : DType::kI32;
  }

  uint32_t define(DType type) {
    in_.expect("%");
    auto id = in_.integer<uint32_t>();
    define(id, type);
    return id;
  }

  void define(uint32_t id, DType type) {
    if (id >= kMaxValues) return in_.fail("the value number is too large");
    types_[id] = type;
    kernel_.num_values = std::max(kernel_.num_values, id + 1);
  }

  Operand operand() {
    if (in_.accept("%")) {
      auto id = in_.integer<uint32_t>();
      auto type = types_.find(id);
      if (type == types_.end()) {
        in_.fail(fmt::format("value %{} is not defined before its use", id));
        return {};
      }
      return Operand::value(id, type->second);
    }
    if (in_.accept("true")) return Operand::boolean(true);
    if (in_.accept("false")) return Operand::boolean(false);
    if (in_.at_number()) {
      std::string text = in_.number();
      bool is_f32 = text.find_first_of(".e") != std::string::npos && !text.starts_with("0x");
      return immediate(is_f32 ? DType::kF32 : DType::kI32, text);
    }
    if (in_.at_numbered("p")) return Operand::param(in_.numbered("p"));
    DType type = dtype();
    return immediate(type, in_.number());
  }

  Operand immediate(DType type, const std::string& text) {
    std::optional<uint64_t> bits = parse_immediate(type, text);
    if (!bits)
      in_.fail(fmt::format("a number of type {} is expected ({})", dtype_name(type), text));
    return Operand::immediate(type, bits.value_or(0));
  }

  uint32_t array_ref() {
    bool shared = in_.at_numbered("s");
    uint32_t id = in_.numbered(shared ? "s" : "r");
    if (in_.ok() &&
        (id >= kernel_.arrays.size() || (kernel_.arrays[id].scope == Scope::kShared) != shared)) {
      in_.fail("no such array is declared");
      return 0;
    }
    return id;
  }

  // The statement's target and its first operand: name[index].
  void indexed(Stmt& stmt, uint32_t target) {
    stmt.target = target;
    in_.expect("[");
    stmt.operands.push_back(operand());
    in_.expect("]");
  }

  Block block() {
    Block body;
    in_.expect("{");
    if (++depth_ > kMaxDepth) in_.fail("blocks nest too deep");
    while (in_.ok() && !in_.at("}")) body.push_back(statement());
    --depth_;
    in_.expect("}");
    return body;
  }

  Stmt statement() {
    if (in_.accept("serial")) return loop(Stmt::Kind::kSerial);
    if (in_.accept("unroll")) return loop(Stmt::Kind::kUnroll);
    if (in_.accept("lane")) return loop(Stmt::Kind::kLane);
    if (in_.accept("while")) return repeat();
    if (in_.accept("store")) return store(Stmt::Kind::kStore);
    if (in_.accept("store_word")) return store(Stmt::Kind::kStoreWord);
    if (in_.accept("write")) return write();
    if (in_.accept("barrier")) return plain(Stmt::Kind::kBarrier);
    if (in_.accept("break_unless")) return plain(Stmt::Kind::kBreakUnless);
    if (in_.accept("if")) return branch();
    if (in_.accept("matrix_clear")) return matrix(Stmt::Kind::kMatrixClear);
    if (in_.accept("matrix_multiply")) return matrix(Stmt::Kind::kMatrixMultiply);
    if (in_.accept("matrix_store")) return matrix(Stmt::Kind::kMatrixStore);
    return definition();
  }

  Stmt loop(Stmt::Kind kind) {
    Stmt stmt;
    stmt.kind = kind;
    stmt.result = define(DType::kI32);
    in_.expect("<");
    stmt.operands.push_back(operand());
    stmt.body = block();
    return stmt;
  }

  Stmt repeat() {
    Stmt stmt;
    stmt.kind = Stmt::Kind::kWhile;
    stmt.target = array_ref();
    stmt.body = block();
    return stmt;
  }

  Stmt plain(Stmt::Kind kind) {
    Stmt stmt;
    stmt.kind = kind;
    if (kind == Stmt::Kind::kBreakUnless) stmt.operands.push_back(operand());
    return stmt;
  }

  void operands(Stmt& stmt) {
    do stmt.operands.push_back(operand());
    while (in_.ok() && in_.accept(","));
  }

  Stmt branch() {
    Stmt stmt;
    stmt.kind = Stmt::Kind::kIf;
    stmt.operands.push_back(operand());
    stmt.body = block();
    return stmt;
  }

  Stmt store(Stmt::Kind kind) {
    Stmt stmt;
    stmt.kind = kind;
    indexed(stmt, in_.numbered("b"));
    in_.expect("=");
    do stmt.operands.push_back(operand());
    while (kind == Stmt::Kind::kStoreWord && in_.ok() && in_.accept(","));
    if (in_.accept("if")) stmt.operands.push_back(operand());
    return stmt;
  }

  Stmt write() {
    Stmt stmt;
    stmt.kind = Stmt::Kind::kWrite;
    indexed(stmt, array_ref());
    in_.expect("=");
    stmt.operands.push_back(operand());
    return stmt;
  }

  Stmt matrix(Stmt::Kind kind) {
    Stmt stmt;
    stmt.kind = kind;
    if (kind == Stmt::Kind::kMatrixClear) return stmt;
    stmt.arrays.push_back(array_ref());
    in_.expect(",");
    if (kind == Stmt::Kind::kMatrixMultiply)
      stmt.arrays.push_back(array_ref());
    else
      stmt.operands.push_back(operand());
    return stmt;
  }

  // %0 = type what ..., or %0, %1 = reduce_lanes ... or load_word ...
  Stmt definition() {
    std::vector<uint32_t> ids;
    do {
      in_.expect("%");
      ids.push_back(in_.integer<uint32_t>());
    } while (in_.ok() && in_.accept(","));
    in_.expect("=");
    if (in_.accept("reduce_lanes")) return reduce(std::move(ids));
    if (in_.accept("load_word")) return load_word(std::move(ids));
    if (ids.size() != 1) in_.fail("only reduce_lanes and load_word define several values");
    Stmt stmt = let();
    stmt.result = ids[0];
    define(ids[0], stmt.dtype);
    return stmt;
  }

  Stmt let() {
    Stmt stmt;
    stmt.dtype = dtype();
    if (in_.accept("load")) {
      stmt.kind = Stmt::Kind::kLoad;
      indexed(stmt, in_.numbered("b"));
      if (!in_.accept("if")) return stmt;
      stmt.operands.push_back(operand());
      in_.expect("else");
      stmt.operands.push_back(operand());
    } else if (in_.accept("read")) {
      stmt.kind = Stmt::Kind::kRead;
      indexed(stmt, array_ref());
    } else if (in_.accept("convert") || in_.at("bitcast")) {
      stmt.kind = in_.accept("bitcast") ? Stmt::Kind::kBitcast : Stmt::Kind::kConvert;
      stmt.operands.push_back(operand());
    } else if (in_.accept("pack")) {
      stmt.kind = Stmt::Kind::kPack;
      operands(stmt);
    } else {
      stmt.kind = Stmt::Kind::kCompute;
      std::string name = in_.word();
      std::optional<Op> op = find_op(name);
      if (!op || !is_elementwise(*op))
        in_.fail(fmt::format("no elementwise op has this name ({})", name));
      stmt.op = op.value_or(Op::kAdd);
      operands(stmt);
    }
    return stmt;
  }

  Stmt load_word(std::vector<uint32_t> results) {
    Stmt stmt;
    stmt.kind = Stmt::Kind::kLoadWord;
    stmt.results = std::move(results);
    indexed(stmt, in_.numbered("b"));
    if (in_.accept("if")) stmt.operands.push_back(operand());
    if (stmt.target < kernel_.buffers.size())
      stmt.dtype = kernel_.buffers[stmt.target].dtype;
    else
      in_.fail("no such buffer is declared");
    for (uint32_t id : stmt.results) define(id, stmt.dtype);
    return stmt;
  }

  Stmt reduce(std::vector<uint32_t> results) {
    Stmt stmt;
    stmt.kind = Stmt::Kind::kReduceLanes;
    stmt.results = std::move(results);
    do stmt.arrays.push_back(array_ref());
    while (in_.ok() && in_.accept(","));
    if (stmt.arrays.size() != stmt.results.size()) in_.fail("each array has one result");
    if (in_.accept("of")) stmt.target = in_.integer<uint32_t>();
    for (size_t i = 0; in_.ok() && i < stmt.arrays.size(); ++i) {
      DType type = kernel_.arrays[stmt.arrays[i]].dtype;
      if (i > 0) in_.expect(",");
      in_.expect("(");
      stmt.lhs.push_back(define(type));
      in_.expect(",");
      stmt.rhs.push_back(define(type));
      in_.expect(")");
    }
    stmt.body = block();
    in_.expect("->");
    do stmt.operands.push_back(operand());
    while (in_.ok() && in_.accept(","));
    for (size_t i = 0; in_.ok() && i < stmt.arrays.size(); ++i)
      define(stmt.results[i], kernel_.arrays[stmt.arrays[i]].dtype);
    return stmt;
  }

  KernelScanner in_;
  Kernel kernel_;
  std::unordered_map<uint32_t, DType> types_;
  int depth_ = 0;
};

}  // namespace

Result<Kernel> parse_kernel(std::string_view text, const std::string& file) {
  return Parser(text, file).parse();
}

}  // namespace tuff
