// What the choices of all schedules are made of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ir/support/parts.h"
#include "shaders/schedule/schedule.h"

namespace tuff {

int64_t power_of_two_at_least(int64_t n);
// The largest divisor of n among [low, high]; else `high`.
int64_t divisor_or(int64_t n, int64_t low, int64_t high);
// Lanes with some loads under way each that keep a GPU's memory busy.
int64_t enough_lanes(const Caps& caps);
// Lanes a device likes for independent work.
int64_t preferred_lanes(const Caps& caps);

// The tiles there are, from the most work for each load to the least; with no run yet.
std::span<const TileSchedule> all_tiles();
// The device holds the tile, and its lanes may walk all of k.
bool takes_tile(const Caps& caps, const MatmulSizes& sizes, const TileSchedule& tile);
// The tiles that the device can multiply as matrices of these types, where the sizes fill them:
// shape by shape in the device's order, those with the most work for each load first.
std::vector<MatrixTileSchedule> matrix_tiles(const Caps& caps, const MatmulSizes& sizes,
                                             DType element, DType sum);
// About so many parts of the longest dimension of k, even ones where it has divisors; nothing
// where that is no split. As for choose_k_split, the innermost dimension is split by k_step.
std::optional<KSplit> split_k(const MatmulSizes& sizes, int64_t parts, int64_t k_step);

}  // namespace tuff
