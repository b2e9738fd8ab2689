#include "shaders/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "shaders/kernel/renumber.h"
#include "shaders/storage.h"

namespace tuff {

namespace {

// Identity of a pure statement.
std::string key_of(const Stmt& stmt) {
  std::string key;
  auto add = [&key](const auto& v) { key.append(reinterpret_cast<const char*>(&v), sizeof v); };
  add(stmt.kind);
  add(stmt.op);
  add(stmt.dtype);
  add(stmt.target);
  for (const Operand& o : stmt.operands) {
    add(o.kind);
    add(o.dtype);
    add(o.id);
    add(o.bits);
  }
  return key;
}

}  // namespace

KernelBuilder::KernelBuilder(std::string family, int64_t lanes, IndexContext& context,
                             const Caps& caps)
    : context_(context), caps_(caps) {
  kernel_.family = std::move(family);
  kernel_.lanes = lanes;
  levels_.emplace_back();
  levels_[0].id = next_scope_++;
}

uint32_t KernelBuilder::add_buffer(DType dtype, Access access, int64_t size_bytes,
                                   int64_t per_word) {
  int64_t stored = size_bytes / dtype_size(dtype) * storage_size(dtype, caps_);
  kernel_.buffers.push_back({dtype, access, stored > caps_.max_storage_buffer_range, per_word});
  return static_cast<uint32_t>(kernel_.buffers.size() - 1);
}

bool KernelBuilder::stores_unchanged(DType dtype) const {
  return storage_size(dtype, caps_) == dtype_size(dtype);
}

uint32_t KernelBuilder::add_array(Scope scope, DType dtype, int64_t count) {
  kernel_.arrays.push_back({scope, dtype, count});
  return static_cast<uint32_t>(kernel_.arrays.size() - 1);
}

// Push constants also hold the workgroup count and 8 bytes for each address.
size_t KernelBuilder::max_params() const {
  int64_t bytes = std::min<int64_t>(caps_.max_push_constant_bytes, 128) - 4;
  for (const BufferDecl& b : kernel_.buffers) bytes -= b.by_address ? 8 : 0;
  constexpr int64_t kReservedForLaterAddresses = 16;
  return static_cast<size_t>((bytes - kReservedForLaterAddresses) / 4);
}

Operand KernelBuilder::size(int64_t value) {
  if (value >= -1 && value <= 1) return Operand::i32(value);
  auto it = sizes_.find(value);
  if (it != sizes_.end()) return it->second;
  Operand operand = new_parameter(value);
  if (operand.kind == Operand::Kind::kParam) sizes_[value] = operand;
  return operand;
}

Operand KernelBuilder::unknown_zero() {
  auto [it, fresh] = sizes_.try_emplace(0);
  if (fresh) it->second = new_parameter(0);
  return it->second;
}

Operand KernelBuilder::new_parameter(int64_t value) {
  require_32_bits(value);
  if (params_.size() >= max_params()) return Operand::i32(value);
  params_.push_back(static_cast<int32_t>(value));
  return Operand::param(static_cast<uint32_t>(params_.size() - 1));
}

uint32_t KernelBuilder::new_value(size_t level) {
  value_scope_.push_back(levels_[level].id);
  return static_cast<uint32_t>(value_scope_.size() - 1);
}

IndexExpr KernelBuilder::grid(const std::string& name, int64_t extent) {
  return open_grid(name, extent, extent);
}

IndexExpr KernelBuilder::open_grid(const std::string& name, int64_t extent, int64_t range) {
  TUFF_CHECK(levels_.size() == 1 && levels_[0].loop.body.empty(), "grid loops come first");
  IndexExpr e = context_.symbol(name, 0, std::max<int64_t>(range - 1, 0));
  if (range == 1) return e;
  // A parameter of its own: sizes that are equal by chance (a batch and a head count)
  // would make another kernel of another batch.
  GridLoop loop{new_value(0), new_parameter(extent)};
  atoms_[e.terms[0].first] = Operand::value(loop.var, DType::kI32);
  kernel_.grid.push_back(loop);
  grid_extents_.push_back(extent);
  return e;
}

void KernelBuilder::open(Stmt::Kind kind, Operand extent, bool real) {
  Level level;
  level.loop.kind = kind;
  level.loop.operands = {extent};
  level.real = real;
  level.id = next_scope_++;
  levels_.push_back(std::move(level));
  if (real) levels_.back().loop.result = new_value(levels_.size() - 1);
}

IndexExpr KernelBuilder::begin_serial(const std::string& name, int64_t extent) {
  return begin_loop(name, extent, size(extent));
}

IndexExpr KernelBuilder::begin_fixed(const std::string& name, int64_t extent) {
  return begin_loop(name, extent, Operand::i32(extent));
}

IndexExpr KernelBuilder::begin_loop(const std::string& name, int64_t extent, const Operand& count) {
  IndexExpr e = context_.symbol(name, 0, std::max<int64_t>(extent - 1, 0));
  open(Stmt::Kind::kSerial, count, extent != 1);
  if (!e.is_constant())
    atoms_[e.terms[0].first] = Operand::value(levels_.back().loop.result, DType::kI32);
  return e;
}

void KernelBuilder::begin_while(uint32_t array) {
  Level level;
  level.loop.kind = Stmt::Kind::kWhile;
  level.loop.target = array;
  level.id = next_scope_++;
  levels_.push_back(std::move(level));
}

IndexExpr KernelBuilder::begin_lanes(const Operand& extent) {
  open(Stmt::Kind::kLane, extent, true);
  IndexExpr e = context_.symbol("lane", 0, kernel_.lanes - 1);
  if (!e.terms.empty())
    atoms_[e.terms[0].first] = Operand::value(levels_.back().loop.result, DType::kI32);
  return e;
}

void KernelBuilder::end() {
  Level level = std::move(levels_.back());
  levels_.pop_back();
  Block& parent = levels_.back().loop.body;
  if (level.real)
    parent.push_back(std::move(level.loop));
  else
    std::move(level.loop.body.begin(), level.loop.body.end(), std::back_inserter(parent));
}

uint64_t KernelBuilder::scope_of(const Operand& o) const {
  return o.kind == Operand::Kind::kValue ? value_scope_[o.id] : levels_[0].id;
}

bool KernelBuilder::alive(uint64_t scope) const {
  return std::any_of(levels_.begin(), levels_.end(), [&](const Level& l) { return l.id == scope; });
}

size_t KernelBuilder::level_of(const Operand& o) const {
  uint64_t scope = scope_of(o);
  for (size_t i = 0; i < levels_.size(); ++i)
    if (levels_[i].id == scope) return i;
  TUFF_CHECK(false, "a value is used outside its loop");
}

size_t KernelBuilder::level_for(const Stmt& stmt) const {
  size_t level = 0;
  for (const Operand& o : stmt.operands) level = std::max(level, level_of(o));
  return level;
}

Operand KernelBuilder::place(Stmt stmt) {
  size_t level = level_for(stmt);
  std::string key = key_of(stmt);
  auto it = levels_[level].numbered.find(key);
  if (it != levels_[level].numbered.end()) return it->second;
  Operand result = append(std::move(stmt), level);
  levels_[level].numbered.emplace(std::move(key), result);
  return result;
}

Operand KernelBuilder::append(Stmt stmt, size_t level) {
  stmt.result = new_value(level);
  Operand result = Operand::value(stmt.result, stmt.dtype);
  levels_[level].loop.body.push_back(std::move(stmt));
  return result;
}

Operand KernelBuilder::compute(Op op, DType dtype, std::vector<Operand> operands) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::kCompute;
  stmt.op = op;
  stmt.dtype = dtype;
  stmt.operands = std::move(operands);
  return place(std::move(stmt));
}

Operand KernelBuilder::convert(const Operand& value, DType dtype) {
  if (value.dtype == dtype) return value;
  Stmt stmt;
  stmt.kind = Stmt::Kind::kConvert;
  stmt.dtype = dtype;
  stmt.operands = {value};
  return place(std::move(stmt));
}

Operand KernelBuilder::bitcast(const Operand& value, DType dtype) {
  if (value.dtype == dtype) return value;
  Stmt stmt;
  stmt.kind = Stmt::Kind::kBitcast;
  stmt.dtype = dtype;
  stmt.operands = {value};
  return place(std::move(stmt));
}

Operand KernelBuilder::pack(const Operand& low, const Operand& high) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::kPack;
  stmt.dtype = DType::kU64;
  stmt.operands = {low, high};
  return place(std::move(stmt));
}

Stmt KernelBuilder::load_stmt(uint32_t buffer, const IndexExpr& element,
                              const std::optional<Operand>& guard) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::kLoad;
  stmt.dtype = kernel_.buffers[buffer].dtype;
  stmt.target = buffer;
  stmt.operands = {index(element)};
  if (guard) {
    stmt.operands.push_back(*guard);
    stmt.operands.push_back(Operand::immediate(stmt.dtype, 0));
  }
  return stmt;
}

Operand KernelBuilder::load(uint32_t buffer, const IndexExpr& element,
                            const std::optional<Operand>& guard) {
  return place(load_stmt(buffer, element, guard));
}

Operand KernelBuilder::load_now(uint32_t buffer, const IndexExpr& element,
                                const std::optional<Operand>& guard) {
  return append(load_stmt(buffer, element, guard), levels_.size() - 1);
}

std::vector<Operand> KernelBuilder::load_word(uint32_t buffer, const IndexExpr& word,
                                              const std::optional<Operand>& guard) {
  const BufferDecl decl = kernel_.buffers[buffer];
  Stmt stmt;
  stmt.kind = Stmt::Kind::kLoadWord;
  stmt.dtype = decl.dtype;
  stmt.target = buffer;
  stmt.operands = {index(word)};
  if (guard) stmt.operands.push_back(*guard);
  size_t level = level_for(stmt);
  auto [it, fresh] = levels_[level].words.try_emplace(key_of(stmt));
  if (!fresh) return it->second;
  for (int64_t i = 0; i < decl.per_word; ++i) {
    stmt.results.push_back(new_value(level));
    it->second.push_back(Operand::value(stmt.results.back(), decl.dtype));
  }
  levels_[level].loop.body.push_back(std::move(stmt));
  return it->second;
}

void KernelBuilder::store(uint32_t buffer, const IndexExpr& element, const Operand& value,
                          const std::optional<Operand>& guard) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::kStore;
  stmt.dtype = kernel_.buffers[buffer].dtype;
  stmt.target = buffer;
  stmt.operands = {index(element), value};
  if (guard) stmt.operands.push_back(*guard);
  levels_.back().loop.body.push_back(std::move(stmt));
}

void KernelBuilder::make_words(uint32_t buffer, int64_t per_word) {
  kernel_.buffers[buffer].per_word = per_word;
}

void KernelBuilder::store_word(uint32_t buffer, const IndexExpr& word,
                               const std::vector<Operand>& values,
                               const std::optional<Operand>& guard) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::kStoreWord;
  stmt.dtype = kernel_.buffers[buffer].dtype;
  stmt.target = buffer;
  stmt.operands = {index(word)};
  stmt.operands.insert(stmt.operands.end(), values.begin(), values.end());
  if (guard) stmt.operands.push_back(*guard);
  levels_.back().loop.body.push_back(std::move(stmt));
}

Operand KernelBuilder::read(uint32_t array, const IndexExpr& element) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::kRead;
  stmt.dtype = kernel_.arrays[array].dtype;
  stmt.target = array;
  stmt.operands = {element.is_constant() ? Operand::i32(element.constant) : index(element)};
  return append(std::move(stmt), levels_.size() - 1);
}

std::optional<KernelBuilder::WordPart> KernelBuilder::word_part(const IndexExpr& element,
                                                                int64_t per_word) {
  IndexExpr e = resolve(element);
  for (const auto& term : e.terms)
    if (term.second % per_word != 0) return std::nullopt;
  WordPart part;
  part.slot = ((e.constant % per_word) + per_word) % per_word;
  part.word.constant = (e.constant - part.slot) / per_word;
  for (const auto& [atom, coefficient] : e.terms)
    part.word.terms.emplace_back(atom, coefficient / per_word);
  return part;
}

void KernelBuilder::write(uint32_t array, const IndexExpr& element, const Operand& value) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::kWrite;
  stmt.dtype = kernel_.arrays[array].dtype;
  stmt.target = array;
  stmt.operands = {element.is_constant() ? Operand::i32(element.constant) : index(element), value};
  levels_.back().loop.body.push_back(std::move(stmt));
}

void KernelBuilder::append_matrix(Stmt::Kind kind, std::vector<uint32_t> arrays,
                                  std::vector<Operand> operands) {
  Stmt stmt;
  stmt.kind = kind;
  stmt.arrays = std::move(arrays);
  stmt.operands = std::move(operands);
  levels_.back().loop.body.push_back(std::move(stmt));
}

void KernelBuilder::matrix_clear() { append_matrix(Stmt::Kind::kMatrixClear, {}, {}); }

void KernelBuilder::matrix_multiply(uint32_t a, uint32_t b) {
  append_matrix(Stmt::Kind::kMatrixMultiply, {a, b}, {});
}

void KernelBuilder::matrix_store(int64_t number, uint32_t array) {
  append_matrix(Stmt::Kind::kMatrixStore, {array}, {Operand::i32(number)});
}

std::vector<Operand> KernelBuilder::begin_reduce(const std::vector<uint32_t>& arrays, Stmt& stmt,
                                                 std::vector<Operand>& rhs) {
  stmt.kind = Stmt::Kind::kReduceLanes;
  stmt.arrays = arrays;
  // The combiner is a scope of its own; its statements move into stmt.body.
  open(Stmt::Kind::kReduceLanes, Operand::i32(1), true);
  std::vector<Operand> lhs;
  for (uint32_t a : arrays) {
    lhs.push_back(Operand::value(new_value(levels_.size() - 1), kernel_.arrays[a].dtype));
    rhs.push_back(Operand::value(new_value(levels_.size() - 1), kernel_.arrays[a].dtype));
    stmt.lhs.push_back(lhs.back().id);
    stmt.rhs.push_back(rhs.back().id);
  }
  return lhs;
}

std::vector<Operand> KernelBuilder::end_reduce(Stmt stmt, const std::vector<Operand>& combined) {
  stmt.body = std::move(levels_.back().loop.body);
  levels_.pop_back();
  stmt.operands = combined;
  std::vector<Operand> results;
  for (uint32_t a : stmt.arrays) {
    results.push_back(Operand::value(new_value(levels_.size() - 1), kernel_.arrays[a].dtype));
    stmt.results.push_back(results.back().id);
  }
  stmt.dtype = kernel_.arrays[stmt.arrays[0]].dtype;
  levels_.back().loop.body.push_back(std::move(stmt));
  return results;
}

double KernelBuilder::iterations(const Block& block) const {
  double sum = 0;
  for (const Stmt& stmt : block) {
    double inside = iterations(stmt.body);
    if (stmt.kind == Stmt::Kind::kSerial) {
      const Operand& extent = stmt.operands[0];
      bool is_param = extent.kind == Operand::Kind::kParam;
      auto count = is_param ? params_[extent.id] : static_cast<int32_t>(extent.bits);
      inside = count * (1 + inside);
    }
    sum += inside;
  }
  return sum;
}

Result<KernelBuilder::Finished> KernelBuilder::finish() {
  TUFF_CHECK(levels_.size() == 1, "a loop is left open");
  if (!error_.empty()) return Error{ErrorCode::kUnsupported, error_, ""};
  Finished result;
  kernel_.body = std::move(levels_[0].loop.body);
  // Schedules stay below the limit; where one does not, results would be wrong without a sign.
  double longest = iterations(kernel_.body);
  if (longest > static_cast<double>(caps_.max_loop_iterations))
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("The loops of a kernel ({}) have {:.0f} iterations, and the device ({}) "
                    "stops after {}; a newer driver or the device cpu computes it.",
                    kernel_.family, longest, caps_.name, caps_.max_loop_iterations),
        ""};
  kernel_.num_params = static_cast<uint32_t>(params_.size());
  result.params = renumber(kernel_, params_);
  result.kernel = std::move(kernel_);
  result.workgroups = 1;
  for (int64_t extent : grid_extents_) result.workgroups *= extent;
  return result;
}

}  // namespace tuff
