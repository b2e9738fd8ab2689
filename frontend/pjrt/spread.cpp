#include "frontend/pjrt/spread.h"

#include <fmt/format.h>

#include "backend/exchange.h"
#include "frontend/pjrt/compile.h"
#include "frontend/pjrt/log.h"
#include "frontend/session/model.h"
#include "ir/support/hash.h"

namespace tuff::pjrt {

namespace {

TensorType user_type(const TensorType& type, const std::vector<DType>& dtypes, size_t i) {
  return i < dtypes.size() ? from_parts(type, dtypes[i]) : type;
}

// The caller's dimensions.
std::string user_text(Sharding sharding, const std::vector<DType>& dtypes, size_t i,
                      const Mesh& mesh, const std::vector<std::vector<int64_t>>& shares) {
  if (i < dtypes.size() && is_complex(dtypes[i])) sharding.axes.pop_back();
  return xla_text(sharding, mesh, i < shares.size() ? shares[i] : std::vector<int64_t>());
}

std::string mlir_type(const TensorType& type) {
  std::string text = "tensor<";
  for (int64_t size : type.shape) text += fmt::format("{}x", size);
  return text + dtype_name(type.dtype) + ">";
}

// Items with commas between them.
class Listed {
 public:
  void add(const std::string& item) { text_.append(text_.empty() ? "" : ", ").append(item); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// The whole program as one call, with the shardings in module attributes as XLA's
// partitioner leaves them there.
std::string describe(const WholeProgram& whole, const PartProgram& part) {
  Listed arguments, argument_types, names, argument_shardings;
  for (uint32_t i = 0; i < whole.graph.num_parameters(); ++i) {
    std::string type = mlir_type(user_type(whole.graph.node(i).types[0], whole.argument_dtypes, i));
    arguments.add(fmt::format("%arg{}: {}", i, type));
    argument_types.add(type);
    names.add(fmt::format("%arg{}", i));
    argument_shardings.add(fmt::format("\"{}\"", user_text(part.arguments[i], whole.argument_dtypes,
                                                           i, whole.mesh, whole.argument_shares)));
  }
  Listed types, results, shardings;
  size_t count = whole.graph.outputs().size();
  for (size_t i = 0; i < count; ++i) {
    types.add(
        mlir_type(user_type(whole.graph.type(whole.graph.outputs()[i]), whole.output_dtypes, i)));
    results.add(count == 1 ? "%0" : fmt::format("%0#{}", i));
    shardings.add(
        user_text(part.outputs[i], whole.output_dtypes, i, whole.mesh, whole.output_shares));
  }
  Listed attributes;
  if (count > 0)
    attributes.add(fmt::format("mhlo.spmd_output_sharding = \"{}\"",
                               count == 1 ? shardings.text() : "{" + shardings.text() + "}"));
  if (whole.graph.num_parameters() > 0)
    attributes.add(fmt::format("mhlo.spmd_parameters_shardings = [{}]", argument_shardings.text()));
  std::string call;
  if (count > 0)
    call = fmt::format(
        "  %0{} = \"stablehlo.custom_call\"({}) {{call_target_name = \"tuff\"}} : ({}) -> ({})\n",
        count == 1 ? "" : fmt::format(":{}", count), names.text(), argument_types.text(),
        types.text());
  std::string returned = count > 0 ? fmt::format(" {} : {}", results.text(), types.text()) : "";
  return fmt::format(
      "module @program attributes {{{}}} {{\nfunc.func public @main({}) -> ({}) {{\n{}  return{}\n"
      "}}\n}}\n",
      attributes.text(), arguments.text(), types.text(), call, returned);
}

Status check_assignment(const DeviceAssignment& assignment) {
  if (assignment.num_replicas == 1) return {};
  return Error{ErrorCode::kUnsupported,
               fmt::format("The program is for ({}) replicas; tuff runs partitions of one replica.",
                           assignment.num_replicas),
               ""};
}

int64_t batch_bytes(const LoadedHandle& loaded) {
  const DeviceHandle& device = *loaded.devices[0];
  const std::shared_ptr<Ranks>& ranks = device.client->ranks;
  return batch_bytes_of(device.runtime->device->caps(), !ranks || ranks->on_one_machine());
}

}  // namespace

Status load_spread(std::string_view source, const DeviceAssignment& assignment,
                   const std::vector<DeviceHandle*>& devices, LoadedHandle* loaded,
                   ExecutableInfo* info) {
  TUFF_RETURN_IF_ERROR(check_assignment(assignment));
  TUFF_ASSIGN(WholeProgram whole, import_whole_program(source, "program"));
  auto num_devices = static_cast<int64_t>(devices.size());
  if (whole.mesh.num_devices() != num_devices)
    return Error{ErrorCode::kBadInput,
                 fmt::format("The program is for ({}) devices, but is given ({}).",
                             whole.mesh.num_devices(), num_devices),
                 ""};
  TUFF_ASSIGN(PartProgram part, partition(whole));
  auto spread = std::make_shared<SpreadProgram>();
  spread->description = describe(whole, part);
  spread->program = cut_into_segments(part.graph, batch_bytes(*loaded));
  spread->last_use = spread->program.last_uses();
  spread->exchanged_by = spread->program.exchanged_by();
  for (const Segment& segment : spread->program.segments)
    for (const Exchange& exchange : segment.exchanges)
      TUFF_RETURN_IF_ERROR(check_exchange(exchange, num_devices));
  info->name = part.graph.name;
  info->fingerprint =
      fmt::format("{:016x}", hash_mix(part.graph.hash(), static_cast<uint64_t>(num_devices)));
  spread->identity = hash_mix(part.graph.hash(), 0);
  for (const DeviceHandle* device : devices) {
    spread->identity = hash_mix(spread->identity, static_cast<uint64_t>(device->description.id));
    if (loaded->devices.size() < devices.size())
      spread->ranks.push_back(device->description.process);
  }
  for (auto [argument, output] : part.graph.donations) info->donated.push_back(argument);
  for (uint32_t i = 0; i < part.graph.num_parameters(); ++i)
    info->arguments.push_back(user_type(part.graph.node(i).types[0], whole.argument_dtypes, i));
  Listed types;
  for (const TensorType& type : info->arguments) types.add(type.to_string());
  spread->signature = fmt::format("{}({})", info->name, types.text());
  for (size_t i = 0; i < part.graph.outputs().size(); ++i)
    info->outputs.push_back(
        user_type(part.graph.type(part.graph.outputs()[i]), whole.output_dtypes, i));
  for (size_t i = 0; i < loaded->devices.size(); ++i) {
    Runtime& runtime = *loaded->devices[i]->runtime;
    auto program = std::make_shared<DeviceProgram>();
    for (const Segment& segment : spread->program.segments) {
      std::shared_ptr<const Loaded>& made = program->segments.emplace_back();
      if (segment.outputs.empty()) continue;
      TUFF_ASSIGN(made, load_graph(runtime, segment.graph));
    }
    Literal id = Literal::from_ints(DType::kU32, {}, {static_cast<int64_t>(loaded->places[i])});
    TUFF_ASSIGN(program->partition_id, runtime.write(id));
    loaded->programs.push_back(std::move(program));
  }
  for (const auto& segment : loaded->programs[0]->segments)
    info->compiled.push_back(segment ? segment->compiled : nullptr);
  log_spread(info->name, spread->program, devices.size());
  info->spread = std::move(spread);
  return {};
}

}  // namespace tuff::pjrt
