// A program as the caller hands it over to an executable.
#pragma once

#include <string_view>

#include "frontend/pjrt/handles.h"

namespace tuff::pjrt {

// `source`: StableHLO text or bytecode; without device ids it is for the client's first
// device. Equal graphs are compiled once for equal devices, and loaded once on each.
Result<LoadedHandle*> compile_source(ClientHandle* client, std::string_view source,
                                     DeviceAssignment assignment);

// A graph as a program on a device; equal graphs are one program.
Result<std::shared_ptr<const Loaded>> load_graph(Runtime& runtime, Graph graph);

}  // namespace tuff::pjrt
