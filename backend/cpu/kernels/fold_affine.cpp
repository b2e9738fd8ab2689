#include "backend/cpu/kernels/fold_affine.h"

#include <algorithm>

namespace tuff::cpu {

namespace {

int64_t wrap(DType dtype, uint64_t value) {
  return canonical_bits(dtype, static_cast<int64_t>(value));
}

// base + stride * lane is exact modulo 2^32 or 2^64, so sums and products by a
// uniform value stay affine even where they wrap.
void set_wrapped(Slot& out, uint64_t base, uint64_t stride) {
  out.set_affine(wrap(out.dtype, base), wrap(out.dtype, stride));
}

uint64_t u(int64_t value) { return static_cast<uint64_t>(value); }

bool multiply(Slot& out, const Slot& a, const Slot& b) {
  if (a.stride != 0 && b.stride != 0) return false;
  const Slot& affine = b.stride == 0 ? a : b;
  uint64_t factor = u(b.stride == 0 ? b.base : a.base);
  set_wrapped(out, u(affine.base) * factor, u(affine.stride) * factor);
  return true;
}

// Lanes of (base + stride * i) / d or % d, one run of equal quotients after
// another; 0 < stride <= d, so a run's end moves the quotient by exactly one.
template <typename I>
void fill_runs(I* lanes, int64_t n, const Slot& a, int64_t d, bool quotient) {
  int64_t q = a.base / d, r = a.base % d;
  for (int64_t i = 0; i < n; q += 1, r -= d) {
    int64_t run = std::min(n - i, (d - r + a.stride - 1) / a.stride);
    I* to = lanes + i;
    if (quotient)
      for (int64_t j = 0; j < run; ++j) to[j] = static_cast<I>(q);
    else
      for (int64_t j = 0; j < run; ++j) to[j] = static_cast<I>(r + a.stride * j);
    i += run;
    r += a.stride * run;
  }
}

// Lanes in a run of one quotient that take longer than to divide each of them.
constexpr int64_t kShortRun = 16;

// Division or remainder by a positive uniform value, of lanes that are all >= 0:
// there every definition of division agrees.
bool divide(Slot& out, const Slot& a, const Slot& b, int64_t n, bool quotient) {
  int64_t last = 0;
  if (b.stride != 0 || b.base <= 0 || a.base < 0 || !last_lane(a, n, &last) || last < 0)
    return false;
  int64_t d = b.base, q = a.base / d;
  if (q == last / d) {
    quotient ? out.set_uniform(q) : out.set_affine(a.base - q * d, a.stride);
  } else if (a.stride % d == 0) {
    quotient ? out.set_affine(q, a.stride / d) : out.set_uniform(a.base % d);
  } else if (out.dtype == DType::kI32 && d < kShortRun * a.stride) {
    return false;  // vectors divide faster than that
  } else if (a.stride > 0 && a.stride <= d) {
    if (out.dtype == DType::kI32)
      fill_runs(reinterpret_cast<int32_t*>(out.memory), n, a, d, quotient);
    else
      fill_runs(reinterpret_cast<int64_t*>(out.memory), n, a, d, quotient);
    out.set_lanes(out.memory);
  } else {
    return false;
  }
  return true;
}

// The signs of a - b at the first and the last lane; the difference is monotonic.
bool difference(const Slot& a, const Slot& b, int64_t n, int64_t* first, int64_t* last) {
  int64_t a_last = 0, b_last = 0;
  if (!last_lane(a, n, &a_last) || !last_lane(b, n, &b_last)) return false;
  *first = a.base < b.base ? -1 : a.base > b.base ? 1 : 0;
  *last = a_last < b_last ? -1 : a_last > b_last ? 1 : 0;
  return true;
}

bool holds(Op op, int64_t sign) {
  switch (op) {
    case Op::kEq: return sign == 0;
    case Op::kNe: return sign != 0;
    case Op::kLt: return sign < 0;
    case Op::kLe: return sign <= 0;
    case Op::kGt: return sign > 0;
    default: return sign >= 0;
  }
}

bool compare(Op op, Slot& out, const Slot& a, const Slot& b, int64_t n) {
  int64_t first = 0, last = 0;
  if (!difference(a, b, n, &first, &last) || holds(op, first) != holds(op, last)) return false;
  // Between a negative and a positive end the lanes may pass through equality.
  bool equality = op == Op::kEq || op == Op::kNe;
  if (equality && first != last) return false;
  if (equality && first == 0 && a.stride != b.stride) return false;
  out.set_uniform(holds(op, first));
  return true;
}

// One operand throughout, where it is the smaller or greater one at both ends.
bool extremum(bool minimum, Slot& out, const Slot& a, const Slot& b, int64_t n) {
  int64_t first = 0, last = 0;
  if (!difference(a, b, n, &first, &last) || first * last < 0) return false;
  bool a_less = first + last <= 0;
  const Slot& chosen = a_less == minimum ? a : b;
  out.set_affine(chosen.base, chosen.stride);
  return true;
}

bool select(Slot& out, const Slot& condition, const Slot& yes, const Slot& no) {
  if (condition.form != Form::kUniform) return false;
  const Slot& chosen = condition.base != 0 ? yes : no;
  if (chosen.form == Form::kVector) return false;
  out.set_affine(chosen.base, chosen.stride);
  return true;
}

bool convert(Slot& out, const Slot& a, int64_t n) {
  int64_t last = 0;
  if (out.dtype == DType::kI64 && !last_lane(a, n, &last)) return false;
  set_wrapped(out, u(a.base), u(a.stride));
  return true;
}

}  // namespace

bool last_lane(const Slot& slot, int64_t n, int64_t* last) {
  int64_t span = 0;
  if (__builtin_mul_overflow(slot.stride, n - 1, &span) ||
      __builtin_add_overflow(slot.base, span, last))
    return false;
  return slot.dtype != DType::kI32 || *last == static_cast<int32_t>(*last);
}

bool fold_affine(const Instr& instr, int64_t n, Slot& out, const Slot& a, const Slot* b,
                 const Slot* c) {
  if (instr.op == Op::kSelect && c != nullptr) return select(out, a, *b, *c);
  if (a.form == Form::kVector || (b != nullptr && b->form == Form::kVector)) return false;
  if (instr.code == Instr::Code::kConvert) return convert(out, a, n);
  switch (instr.op) {
    case Op::kAdd:
      set_wrapped(out, u(a.base) + u(b->base), u(a.stride) + u(b->stride));
      return true;
    case Op::kSubtract:
      set_wrapped(out, u(a.base) - u(b->base), u(a.stride) - u(b->stride));
      return true;
    case Op::kNegate: set_wrapped(out, -u(a.base), -u(a.stride)); return true;
    case Op::kMultiply: return multiply(out, a, *b);
    case Op::kIndexDiv:
    case Op::kDivide: return divide(out, a, *b, n, true);
    case Op::kRemainder: return divide(out, a, *b, n, false);
    case Op::kMinimum: return extremum(true, out, a, *b, n);
    case Op::kMaximum: return extremum(false, out, a, *b, n);
    default: return compare(instr.op, out, a, *b, n);
  }
}

}  // namespace tuff::cpu
