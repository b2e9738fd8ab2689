// What devices give each other at a collective, computed on the host: from the elements of
// its operand on every device, or part by part, where devices do not see each other's.
#pragma once

#include <functional>
#include <span>

#include "ir/spmd/segments.h"

namespace tuff {

// Makes the literals that the functions below write whole, whatever is in them.
using MakeLiteral = std::function<Literal(const TensorType&)>;

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
                        std::span<const Literal* const> operands, const MakeLiteral& make);

// Whose parts `device` takes, in that order, and who takes one of its own, itself among them
// where it keeps one. A permute may have none.
std::vector<int64_t> givers(const Exchange& exchange, int64_t device);
std::vector<int64_t> takers(const Exchange& exchange, int64_t device);

// What the taker needs of a giver's operand; may be a view of it. Of an all_reduce the members
// of a group take a flat share each, which is the first half: the second is join_shares.
TensorType given_type(const Exchange& exchange, int64_t taker);
Literal given_part(const Exchange& exchange, const Literal& operand, int64_t taker,
                   const MakeLiteral& make);

// The result out of the givers' parts; of an all_reduce the taker's share of it.
Literal take_parts(const Exchange& exchange, std::span<const Literal> parts,
                   const MakeLiteral& make);

// An all_reduce's result out of the shares of its group, in the group's order.
Literal join_shares(const Exchange& exchange, std::span<const Literal> shares,
                    const MakeLiteral& make);

// Errors: kUnsupported for a reduction of more than one operation.
Status check_exchange(const Exchange& exchange, int64_t num_devices);

}  // namespace tuff
