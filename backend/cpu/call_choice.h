// Which way each call of a program is done on this processor. That is chosen here and nowhere else,
// once: when a program is loaded, or its packing planned. What a way keeps of its operands from run
// to run, and of what size, it tells the owner when it is made.
#pragma once

#include <optional>

#include "backend/cpu/derived_operand.h"
#include "backend/cpu/gemm/panel_calls.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "backend/cpu/native/function_cache.h"
#include "backend/program.h"

namespace tuff::cpu {

enum class CallWay : uint8_t {
  kOwn,        // C++ for this one kind of call
  kPanels,     // rows times panels of columns, by register tiles
  kBf16x6,     // the same by AMX
  kWinograd,   // 3x3 windows by transformed tiles
  kBytes,      // bytes by tiles of AMX, by VNNI or by what there is
  kOnednn,     // oneDNN's
  kConverted,  // pieces of narrow floats, converted to f32, in one of these ways
};

struct ChosenCall {
  CallWay way = CallWay::kOwn;
  LibraryCallPtr call;
};

// Errors: kRunFailed for a step that says nothing or asks for a library that the build lacks;
// kUnsupported and kOutOfMemory of the calls. functions: where native code comes from for the
// kernels in them, or null; it outlives them.
Result<ChosenCall> choose_call(const Program& program, const Step& step, const LaneTable& table,
                               DerivedOwner& owner, native::FunctionCache* functions = nullptr);

// stable_..: the operand may be the same contents in many runs, so that a copy of it can pay.
Result<ChosenCall> choose_matmul(const MatmulCall& call, bool stable_a, bool stable_b,
                                 const LaneTable& table, DerivedOwner& owner);
// Whether such a product is faster by AMX: splitting both sides takes less than that gains.
bool pays_as_bf16x6(const PanelProductCall& call, const LaneTable& table);
// in_result: the post-op whose operand lies where the result goes, if that is known.
Result<ChosenCall> choose_convolution(const ConvolutionCall& call, bool stable_weights,
                                      std::optional<size_t> in_result, const LaneTable& table,
                                      DerivedOwner& owner);

}  // namespace tuff::cpu
