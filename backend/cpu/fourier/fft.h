// Fast Fourier transforms.
#pragma once

#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

LibraryCallPtr create_fft(const FftCall& call, const LaneTable& table);

}  // namespace tuff::cpu
