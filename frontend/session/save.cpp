#include "frontend/session/save.h"

#include "frontend/saved/write.h"

namespace tuff {

namespace {

// A callback is a number that this process alone knows.
Status refuse_callbacks(const Graph& graph) {
  std::vector<const Graph*> pending{&graph};
  while (!pending.empty()) {
    const Graph* at = pending.back();
    pending.pop_back();
    for (const Node& node : at->nodes()) {
      for (const GraphPtr& region : node.regions) pending.push_back(region.get());
      const auto* call = node.attrs.find<HostCallAttrs>();
      if (call && call->function == HostFunction::kCallback)
        return Error{ErrorCode::kUnsupported,
                     "The program calls a function of this process, which no file can hold.",
                     node.loc};
    }
  }
  return {};
}

}  // namespace

void leave_values_out(Model* model) {
  for (ModelArgument& argument : model->arguments)
    if (!argument.is_fixed) argument.value.reset(), argument.init.reset();
}

Status save_program(const std::string& path, Model model, const Program& program, Device& device) {
  TUFF_RETURN_IF_ERROR(refuse_callbacks(model.graph));
  TUFF_ASSIGN(KernelCode code, device.kernel_code(program));
  model.code = std::make_shared<const KernelCode>(std::move(code));
  model.made_for = device.description();
  return saved::write(path, model);
}

}  // namespace tuff
