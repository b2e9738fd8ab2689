// Loads of KernelCode whose lanes lie in few vectors of memory, in an order that is known:
// backwards, every second or third element, each one several times, in turn out of three places.
// All of these vectors are loaded, and each lane takes its element; processors gather slower, some
// much.
#include <algorithm>

#include "backend/cpu/native/kernel_code.h"

namespace tuff::cpu::native {

namespace {

using Form = LaneValue::Form;

// Of a load: beyond, a gather takes no longer. Of lanes that are stored one by one.
constexpr size_t kMostRows = 8, kMostLines = 4;

// `count` elements side by side, of which lane i, where its bit is set, takes number from[i].
struct LaneRow {
  int64_t first = 0;
  int count = 0;
  int64_t lanes = 0;
  Lanes from{};
};

// Rows of up to `wide` elements, from the first place that none has yet.
std::vector<LaneRow> rows_of(const Lanes& places, const Lanes& wanted, int lanes, int wide) {
  std::vector<int> left;
  for (int lane = 0; lane < lanes; ++lane)
    if (wanted[static_cast<size_t>(lane)] != 0) left.push_back(lane);
  auto place = [&](int lane) {
    return int64_t{static_cast<int32_t>(places[static_cast<size_t>(lane)])};
  };
  std::stable_sort(left.begin(), left.end(), [&](int a, int b) { return place(a) < place(b); });
  std::vector<LaneRow> rows;
  for (auto begin = left.begin(); begin != left.end();) {
    auto end = std::find_if(begin, left.end(),
                            [&](int lane) { return place(lane) >= place(*begin) + wide; });
    LaneRow row{.first = place(*begin)};
    const int64_t last = place(*(end - 1));
    // Whole, where more lies before it.
    if (last + 1 - wide >= place(left.front())) row.first = last + 1 - wide;
    row.count = static_cast<int>(last + 1 - row.first);
    for (; begin != end; ++begin) {
      row.lanes |= int64_t{1} << *begin;
      row.from[static_cast<size_t>(*begin)] = static_cast<uint32_t>(place(*begin) - row.first);
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

// `count` elements from that at lane value `first` of the index, and no others are touched. In the
// first lanes; or one, in all of them.
LaneValue KernelCode::load_row(Reg base, int64_t offset, Element element, const LaneValue& index,
                               int32_t first, int count) {
  LaneValue at = index;
  at.lanes.fill(static_cast<uint32_t>(first));
  const Address from = address(base, offset, at, size_of(element.cell));
  if (std::optional<LaneValue> known = known_row(from, element, count)) return *known;
  const Reg out = code_.fresh(true);
  if (count == 1 && element.cell == Cell::kWord) {
    emit_memory(Code::kLoadSpread, 8, from, out, kNone);
    return lanes_.vector(element.kind, out, true);
  }
  const bool whole = count == lanes_.width;
  const bool narrows = element.cell == Cell::kWord && (count & (count - 1)) == 0;
  if (whole || narrows) {
    emit_memory(Code::kLoad, static_cast<uint8_t>(count), from, out, kNone, element.cell);
    return lanes_.vector(element.kind, out, false);
  }
  Lanes mask{};
  std::fill_n(mask.begin(), count, ~0u);
  emit_memory(Code::kLoadMasked, lanes_.code_lanes(), from, out, code_.constant(mask),
              element.cell);
  return lanes_.vector(element.kind, out, false);
}

// Lanes that are stored one by one into a few lines of memory.
bool KernelCode::is_close(const LaneValue& index) const {
  if (index.form == Form::kVector) return false;
  Lanes all;
  all.fill(1);
  return rows_of(index.lanes, all, lanes_.width, std::max(lanes_.width, 8)).size() <= kMostLines;
}

// One by one by way of the stack, those that are wanted: the last lanes of narrow elements.
std::optional<LaneValue> KernelCode::load_lanes(Reg base, int64_t offset, Element element,
                                                const LaneValue& index,
                                                const std::optional<LaneValue>& wanted) {
  if (!are_last_ || !code_.is_wide()) return std::nullopt;
  const int64_t bytes = 4 * code_.width;
  const int64_t room = code_.stack_bytes = (code_.stack_bytes + bytes - 1) / bytes * bytes;
  code_.stack_bytes += bytes;
  for (int lane = 0; lane < lanes_.width; ++lane) {
    const int64_t end = code_.label();
    if (wanted)
      jump_if(Condition::kEqual, lanes_.general_of(lane_of(*wanted, lane)), kNone, 0, end);
    LaneValue at = lane_of(index, lane);
    at.same = true;
    const Address from = address(base, offset, at, size_of(element.cell));
    if (!fits_offset(from.offset)) return std::nullopt;
    const Reg one = code_.fresh(false);
    emit_memory(Code::kGLoad, 1, from, one, kNone, element.cell);
    emit_memory(Code::kGStore, 1, {.base = kStack, .offset = room + 4 * lane}, kNone, one);
    set_label(end);
  }
  Reg all = code_.fresh(true);
  emit_memory(Code::kLoad, lanes_.code_lanes(), {.base = kStack, .offset = room}, all, kNone);
  if (element.cell == Cell::kF16) all = lanes_.emit(Code::kFloatFromHalf, all);
  if (element.cell == Cell::kBF16) all = lanes_.emit(Code::kShiftLeft, all, lanes_.constant(16));
  if (element.kind == Kind::kBool) all = lanes_.emit(Code::kSubtract, lanes_.constant(0), all);
  return lanes_.vector(element.kind, all, false);
}

// `wanted`: the lanes whose elements are loaded; others have anything. Nothing where places are not
// known, or too many vectors lie between them.
std::optional<LaneValue> KernelCode::load_close(Reg base, int64_t offset, Element element,
                                                const LaneValue& index, const LaneValue& wanted) {
  if (index.form == Form::kVector || wanted.form != Form::kKnown) return std::nullopt;
  if (element.kind == Kind::kBool || (element.cell != Cell::kWord && !code_.is_wide()))
    return std::nullopt;
  const int lanes = lanes_.width, wide = std::max(lanes, 8);
  const std::vector<LaneRow> rows = rows_of(index.lanes, wanted.lanes, lanes, wide);
  if (rows.empty()) return LaneValues::known(element.kind, 0);
  if (rows.size() > kMostRows || !fits_offset(offset + 4 * rows.front().first) ||
      !fits_offset(offset + 4 * rows.back().first))
    return std::nullopt;
  lanes_.width = wide;
  Reg all = kNone;
  for (const LaneRow& row : rows) {
    const LaneValue loaded =
        load_row(base, offset, element, index, static_cast<int32_t>(row.first), row.count);
    Reg turned = lanes_.vector_of(loaded);
    if (!lanes_.uniform(loaded))
      turned = lanes_.emit(Code::kPermute, turned, code_.constant(row.from));
    all = all == kNone ? turned : lanes_.emit(Code::kBlendLanes, all, turned, kNone, row.lanes);
  }
  lanes_.width = lanes;
  return lanes_.vector(element.kind, all, false);
}

}  // namespace tuff::cpu::native
