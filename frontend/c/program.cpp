// Programs: a model's bytes, compiled and loaded; what there is to know of them; bound arguments.
#include <fmt/ranges.h>

#include "frontend/c/buffer.h"
#include "frontend/c/call.h"
#include "frontend/c/objects.h"
#include "frontend/c/types.h"
#include "frontend/session/arguments.h"
#include "frontend/session/model.h"

namespace tuff::c {

ProgramState::~ProgramState() {
  for (size_t i = 0; i < bound.size(); ++i) bind(i, nullptr);
}

void ProgramState::bind(size_t argument, std::shared_ptr<BufferState> buffer) {
  if (buffer) ++buffer->bindings;
  if (bound[argument]) --bound[argument]->bindings;
  bound[argument] = std::move(buffer);
}

namespace {

// Tells the caller how far the work is, and is told whether to go on.
class Progress {
 public:
  explicit Progress(const tuff_compile_options& options)
      : callback_(options.progress), user_(options.progress_user) {}

  void tell(const char* phase, int64_t done, int64_t total) {
    if (callback_ && callback_(user_, phase, done, total) != 0) cancelled_ = true;
  }
  Status check() const {
    if (!cancelled_) return {};
    return Error{ErrorCode::kInterrupted, "The progress callback ended the compilation.", ""};
  }

 private:
  tuff_progress_callback callback_;
  void* user_;
  std::atomic<bool> cancelled_{false};
};

Result<ArgumentShapes> shapes_of(const tuff_compile_options& options) {
  ArgumentShapes shapes;
  if (options.num_shapes > 0) TUFF_RETURN_IF_ERROR(need(options.shapes, "options.shapes"));
  for (size_t i = 0; i < options.num_shapes; ++i) {
    const tuff_argument_shape& given = options.shapes[i];
    TUFF_RETURN_IF_ERROR(need(given.name, "options.shapes.name"));
    TUFF_ASSIGN(shapes[given.name], shape_of(given.shape, given.rank, "options.shapes.shape"));
  }
  if (options.num_values > 0) TUFF_RETURN_IF_ERROR(need(options.values, "options.values"));
  for (size_t i = 0; i < options.num_values; ++i) {
    const tuff_argument_value& given = options.values[i];
    TUFF_RETURN_IF_ERROR(need(given.name, "options.values.name"));
    TUFF_ASSIGN(Shape shape, shape_of(given.shape, given.rank, "options.values.shape"));
    shapes.try_emplace(given.name, std::move(shape));
  }
  return shapes;
}

// What is given for an argument, by its name, or its number where that has none.
Result<std::optional<Literal>> find_value(const tuff_compile_options& options,
                                          const std::string& name, size_t index) {
  for (size_t i = 0; i < options.num_values; ++i) {
    const tuff_argument_value& given = options.values[i];
    if (given.name != name && given.name != std::to_string(index)) continue;
    TensorType type;
    TUFF_ASSIGN(type.dtype, dtype_of(given.dtype));
    TUFF_ASSIGN(type.shape, shape_of(given.shape, given.rank, "options.values.shape"));
    Literal value(type);
    if (value.size_bytes() == 0) return std::optional(std::move(value));
    TUFF_RETURN_IF_ERROR(need(given.data, "options.values.data"));
    std::memcpy(value.mutable_bytes(), given.data, static_cast<size_t>(value.size_bytes()));
    return std::optional(std::move(value));
  }
  return std::optional<Literal>();
}

Result<Model> import(const tuff_compile_options& options) {
  if ((options.path != nullptr) == (options.bytes != nullptr))
    return invalid("A program is compiled from a path or from bytes: give one of the two.");
  ModelBytes source;
  if (options.path) {
    TUFF_ASSIGN(source, open_model(options.path));
  } else {
    source.path = options.name ? options.name : "model";
    source.bytes = {static_cast<const char*>(options.bytes), options.num_bytes};
  }
  AskShapes ask([&options] { return shapes_of(options); },
                [&options](const std::string& name, size_t index) {
                  return find_value(options, name, index);
                });
  if (options.num_shapes > 0) {
    TUFF_RETURN_IF_ERROR(need(options.shapes, "options.shapes"));
    TUFF_RETURN_IF_ERROR(need(options.shapes[0].name, "options.shapes.name"));
    ask.given = fmt::format("options.shapes ({})", options.shapes[0].name);
  }
  return read_model(source, ask);
}

Status upload_weights(const Model& model, const tuff_compile_options& options, Progress& progress,
                      ProgramState* program) {
  TUFF_ASSIGN(auto weights,
              gather_weights(model, options.weights_path ? options.weights_path : ""));
  auto total = static_cast<int64_t>(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    progress.tell("upload", static_cast<int64_t>(i), total);
    TUFF_RETURN_IF_ERROR(progress.check());
    if (!weights[i]) continue;
    // A view on bytes that the caller keeps during the call only has to be copied.
    auto owner = std::make_shared<Literal>(*weights[i]);
    TUFF_ASSIGN(auto buffer, options.path ? import_buffer(program->device, *weights[i], owner)
                                          : create_buffer(program->device, *weights[i]));
    program->bind(i, std::move(buffer));
  }
  return {};
}

void describe(const Model& model, ProgramState* state) {
  const Program& program = *state->program;
  for (size_t i = 0; i < program.arguments.size(); ++i)
    state->arguments.push_back({model.arguments[i].name, argument_type(model, i)});
  for (size_t i = 0; i < program.outputs.size(); ++i)
    state->results.push_back({model.results[i], result_type(model, i)});
  for_each_step(program.steps, [&](const Step& step, int) {
    bool work = step.kind == Step::Kind::kDispatch || step.kind == Step::Kind::kCall ||
                step.kind == Step::Kind::kHost;
    if (work) state->steps.push_back({&step, fmt::format("{}", fmt::join(step.ops, " "))});
  });
  state->bound.resize(program.arguments.size());
}

Result<std::shared_ptr<ProgramState>> compile(const std::shared_ptr<DeviceState>& device,
                                              const tuff_compile_options& options) {
  Progress progress(options);
  progress.tell("import", 0, 0);
  TUFF_RETURN_IF_ERROR(progress.check());
  TUFF_ASSIGN(Model model, import(options));
  SessionOptions how = device->session.options();
  how.require_gpu = options.require_gpu != 0;
  how.hooks.check = [&progress] { return progress.check(); };
  if (how.require_gpu && device->description.kind == TUFF_DEVICE_CPU)
    return Error{ErrorCode::kFallbackRefused,
                 "The device is the CPU, which require_gpu refuses; open a Vulkan device.", ""};
  auto state = std::make_shared<ProgramState>();
  state->device = device;
  progress.tell("compile", 0, 0);
  TUFF_RETURN_IF_ERROR(progress.check());
  TUFF_ASSIGN(state->program,
              compile_model(model.graph, device->device().caps(), how, &state->report));
  LoadOptions load;
  load.code = model.code;
  load.progress = [&progress](int64_t done, int64_t total) {
    progress.tell("kernels", done, total);
  };
  TUFF_ASSIGN(state->loaded, device->device().load(state->program, load));
  TUFF_RETURN_IF_ERROR(progress.check());
  describe(model, state.get());
  TUFF_RETURN_IF_ERROR(upload_weights(model, options, progress, state.get()));
  state->model = std::move(model);
  state->model.code.reset();
  for (ModelArgument& argument : state->model.arguments) argument.value.reset();
  if (state->loaded->stats().glsl_compiled > 0 && !state->model.made_for.empty())
    device->context->tell(
        fmt::format("{}: {} of {} kernels are compiled anew: the program was saved for {}",
                    state->model.path, state->loaded->stats().glsl_compiled,
                    state->program->kernels.size(), state->model.made_for));
  return state;
}

tuff_program_info info_of(const ProgramState& state) {
  tuff_program_info info{};
  info.num_arguments = state.arguments.size(), info.num_results = state.results.size();
  info.num_operations = static_cast<size_t>(state.report.ops);
  info.num_steps = state.steps.size();
  info.num_kernels = state.program->kernels.size();
  info.num_kernels_compiled = static_cast<size_t>(state.loaded->stats().glsl_compiled);
  info.num_host_steps = state.report.hosted.size();
  info.argument_bytes = state.report.arguments_bytes;
  info.result_bytes = state.report.outputs_bytes;
  info.constant_bytes = state.report.constants_bytes;
  info.arena_bytes = state.report.arena_bytes;
  return info;
}

Result<tuff_value_info> value_info(const std::vector<NamedType>& values, size_t index,
                                   const char* what) {
  if (index >= values.size())
    return invalid(fmt::format("There is no {} ({}) of ({}).", what, index, values.size()));
  tuff_value_info known{};
  tuff_tensor_type type = view_of(values[index].type);
  known.name = values[index].name.c_str();
  known.dtype = type.dtype, known.rank = type.rank, known.shape = type.shape;
  return known;
}

tuff_step_info info_of(const WorkStep& work, const Program& program) {
  const Step& step = *work.step;
  tuff_step_info info{};
  info.operations = work.operations.c_str();
  bool dispatch = step.kind == Step::Kind::kDispatch;
  info.label = step.label.c_str();
  info.kernel = dispatch ? program.kernel_keys[step.kernel].c_str() : "";
  info.on_host = step.kind == Step::Kind::kHost;
  info.workgroups = dispatch ? step.workgroups : 0;
  info.flops = step.cost.flops;
  info.read_bytes = step.cost.read_bytes, info.written_bytes = step.cost.written_bytes;
  return info;
}

Error keeps_its_value(const ProgramState& program, size_t argument) {
  return invalid(fmt::format(
      "A shape follows from the argument {} ({}), so it keeps the value that the program was "
      "compiled with; compile again for another one.",
      argument, program.arguments[argument].name));
}

Status bind(ProgramState& program, size_t argument, const tuff_buffer* buffer) {
  if (argument >= program.arguments.size())
    return invalid(
        fmt::format("There is no argument ({}) of ({}).", argument, program.arguments.size()));
  if (buffer)
    TUFF_RETURN_IF_ERROR(check_argument(program, argument, *buffer->state));
  else if (program.model.arguments[argument].is_fixed)
    return keeps_its_value(program, argument);
  program.bind(argument, buffer ? buffer->state : nullptr);
  return {};
}

}  // namespace

Status check_argument(const ProgramState& program, size_t argument, const BufferState& buffer) {
  const NamedType& wanted = program.arguments[argument];
  if (buffer.type != wanted.type)
    return invalid(fmt::format("The argument {} ({}) has type ({}), the buffer ({}).", argument,
                               wanted.name, wanted.type.to_string(), buffer.type.to_string()));
  if (buffer.device != program.device)
    return invalid(fmt::format("The buffer for argument {} ({}) is not on the program's device.",
                               argument, wanted.name));
  if (program.model.arguments[argument].is_fixed && &buffer != program.bound[argument].get())
    return keeps_its_value(program, argument);
  return {};
}

}  // namespace tuff::c

using namespace tuff;     // NOLINT: the functions of tuff.h have no namespace
using namespace tuff::c;  // NOLINT

tuff_status tuff_program_compile(tuff_device* device, const tuff_compile_options* options,
                                 tuff_program** program) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(device, "device"));
    TUFF_RETURN_IF_ERROR(need(program, "program"));
    TUFF_ASSIGN(tuff_compile_options known, read_struct(options, "options"));
    auto handle = std::make_unique<tuff_program>();
    TUFF_ASSIGN(handle->state, c::compile(device->state, known));
    *program = handle.release();
    return {};
  });
}

void tuff_program_destroy(tuff_program* program) { delete program; }

tuff_status tuff_program_get_info(const tuff_program* program, tuff_program_info* info) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(program, "program"));
    return write_struct(info, info_of(*program->state), "info");
  });
}

tuff_status tuff_program_argument(const tuff_program* program, size_t index,
                                  tuff_value_info* info) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(program, "program"));
    const ProgramState& state = *program->state;
    TUFF_ASSIGN(tuff_value_info known, value_info(state.arguments, index, "argument"));
    known.is_bound = state.bound[index] != nullptr;
    return write_struct(info, known, "info");
  });
}

tuff_status tuff_program_result(const tuff_program* program, size_t index, tuff_value_info* info) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(program, "program"));
    TUFF_ASSIGN(tuff_value_info known, value_info(program->state->results, index, "result"));
    for (const CountedResult& counted : program->state->model.counted) {
      if (counted.result != index) continue;
      known.count_result = counted.count;
      known.count_dimension = static_cast<uint32_t>(counted.dimension);
    }
    return write_struct(info, known, "info");
  });
}

tuff_status tuff_program_step(const tuff_program* program, size_t index, tuff_step_info* info) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(program, "program"));
    const ProgramState& state = *program->state;
    if (index >= state.steps.size())
      return invalid(fmt::format("There is no step ({}) of ({}).", index, state.steps.size()));
    return write_struct(info, info_of(state.steps[index], *state.program), "info");
  });
}

tuff_status tuff_program_bind(tuff_program* program, size_t argument, tuff_buffer* buffer) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(program, "program"));
    return c::bind(*program->state, argument, buffer);
  });
}
