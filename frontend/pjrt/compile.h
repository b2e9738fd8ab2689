// A program as the caller hands it over to an executable.
#pragma once

#include <string_view>

#include "frontend/pjrt/handles.h"

namespace tuff::pjrt {

// `source`: StableHLO text or bytecode. Equal graphs are compiled once per client.
Result<LoadedHandle*> compile_source(ClientHandle* client, std::string_view source);

}  // namespace tuff::pjrt
