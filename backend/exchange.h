// What devices of one process give each other at a collective, computed on the host from
// the elements of its operand on every device.
#pragma once

#include <span>

#include "ir/spmd/segments.h"

namespace tuff {

// The devices of the group that `device` belongs to, in the group's order; empty where
// no group has it.
std::vector<int64_t> group_of(const Exchange& exchange, int64_t device);

// Combines element by element the `operands` of an all_reduce or reduce_scatter, in their
// order, for elements [begin, end) of `out`, which has their type. 16-bit floats are
// rounded once. Threads may combine different ranges at once.
void combine_operands(const Exchange& exchange, std::span<const Literal* const> operands,
                      int64_t begin, int64_t end, Literal* out);

// The result on `device`; operands by device, of the exchange's type. Not for all_reduce,
// whose result is combine_operands over everything.
Literal exchange_result(const Exchange& exchange, int64_t device,
                        std::span<const Literal* const> operands);

// Errors: kUnsupported for a reduction of more than one operation.
Status check_exchange(const Exchange& exchange, int64_t num_devices);

}  // namespace tuff
