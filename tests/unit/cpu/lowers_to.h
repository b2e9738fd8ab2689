// Which groups become calls on a device that runs libraries.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "ir/passes/composites.h"
#include "ir/text/parse.h"
#include "shaders/lower.h"

namespace tuff::test {

// The group that `text` is becomes so many steps, the first of them a Call.
template <typename Call>
bool lowers_to(const std::string& text, size_t steps = 1) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.error().to_string();
  if (!graph.ok()) return false;
  Caps caps;
  caps.device_class = DeviceClass::kCpu;
  caps.library_calls = true;
  Node fused;
  fused.op = Op::kFused;
  fused.attrs = group_attrs(GroupKind::kRows, *graph);
  fused.regions = {std::make_shared<const Graph>(*std::move(graph))};
  auto lowered = lower_group(fused, caps);
  EXPECT_TRUE(lowered.ok()) << lowered.error().to_string();
  return lowered.ok() && lowered->steps.size() == steps &&
         std::holds_alternative<Call>(lowered->steps[0].call);
}

}  // namespace tuff::test
