// The plugin through its table of functions, as a framework loads it: no framework.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "frontend/pjrt/abi/abi_client.h"
#include "frontend/pjrt/abi/abi_execute.h"
#include "frontend/pjrt/abi/table.h"

namespace tuff::pjrt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Api& api() {
  static const Api* loaded = [] {
    void* plugin = dlopen(TUFF_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(plugin, nullptr) << dlerror();
    auto get = reinterpret_cast<const Api* (*)()>(dlsym(plugin, "GetPjrtApi"));
    return get();
  }();
  return *loaded;
}

// Calls a slot; the error's status and message, or nothing.
struct Failure {
  uint32_t status = 0;
  std::string message;
};
template <typename Args>
Failure call(Slot slot, Args& args) {
  args.struct_size = sizeof args;
  ErrorHandle* error = api().slots[static_cast<int>(slot)](&args);
  if (!error) return {};
  Error_GetCode_Args code{sizeof code, nullptr, error, 0};
  Error_Message_Args message{sizeof message, nullptr, error, nullptr, 0};
  Error_ForEachPayload_Args payload{sizeof payload, nullptr, error, nullptr, nullptr};
  Error_Destroy_Args destroy{sizeof destroy, nullptr, error};
  api().slots[static_cast<int>(Slot::kError_GetCode)](&code);
  api().slots[static_cast<int>(Slot::kError_Message)](&message);
  EXPECT_EQ(api().slots[static_cast<int>(Slot::kError_ForEachPayload)](&payload), nullptr);
  Failure failure{code.code, std::string(message.message, message.message_size)};
  api().slots[static_cast<int>(Slot::kError_Destroy)](&destroy);
  return failure;
}
#define CALL(name, args) call(Slot::k##name, args)
#define EXPECT_CALL_OK(name, args) EXPECT_EQ(CALL(name, args).message, "")

class PluginTest : public ::testing::Test {
 protected:
  void SetUp() override {
    NamedValue device{};
    device.struct_size = sizeof device;
    device.name = "device";
    device.name_size = 6;
    device.type = NamedValue::kString;
    device.string_value = "cpu";
    device.value_size = 3;
    Client_Create_Args args{};
    args.create_options = &device;
    args.num_options = 1;
    EXPECT_CALL_OK(Client_Create, args);
    client_ = args.client;
  }
  void TearDown() override {
    for (BufferHandle* buffer : buffers_) {
      Buffer_Destroy_Args args{0, nullptr, buffer};
      EXPECT_CALL_OK(Buffer_Destroy, args);
    }
    for (LoadedHandle* loaded : loaded_) {
      LoadedExecutable_Destroy_Args args{0, nullptr, loaded};
      EXPECT_CALL_OK(LoadedExecutable_Destroy, args);
    }
    Client_Destroy_Args args{0, nullptr, client_};
    EXPECT_CALL_OK(Client_Destroy, args);
  }

  // Waits for the event; how it ended. There is none where only a size was asked for.
  Failure finish(EventHandle* event) {
    if (!event) return {};
    Event_Await_Args await{0, nullptr, event};
    Failure failure = CALL(Event_Await, await);
    Event_Destroy_Args args{0, nullptr, event};
    EXPECT_CALL_OK(Event_Destroy, args);
    return failure;
  }

  BufferHandle* upload(ElementType type, const void* data, std::vector<int64_t> dims,
                       std::vector<int64_t> strides = {}) {
    Client_BufferFromHostBuffer_Args args{};
    args.client = client_;
    args.data = data;
    args.type = type;
    args.dims = dims.data();
    args.num_dims = dims.size();
    args.byte_strides = strides.empty() ? nullptr : strides.data();
    args.num_byte_strides = strides.size();
    EXPECT_CALL_OK(Client_BufferFromHostBuffer, args);
    finish(args.done_with_host_buffer);
    buffers_.insert(args.buffer);
    return args.buffer;
  }

  template <typename T>
  std::vector<T> download(BufferHandle* buffer) {
    Buffer_ToHostBuffer_Args args{};
    args.src = buffer;
    EXPECT_CALL_OK(Buffer_ToHostBuffer, args);
    std::vector<T> values(args.dst_size / sizeof(T));
    args.dst = values.data();
    EXPECT_CALL_OK(Buffer_ToHostBuffer, args);
    finish(args.event);
    return values;
  }

  Failure compile(const std::string& source, LoadedHandle** loaded) {
    ProgramText text{sizeof text, nullptr, source.data(), source.size(), "mlir", 4};
    Client_Compile_Args args{};
    args.client = client_;
    args.program = &text;
    Failure failure = CALL(Client_Compile, args);
    if (failure.message.empty()) loaded_.push_back(*loaded = args.executable);
    return failure;
  }

  Failure execute(LoadedHandle* loaded, std::vector<BufferHandle*> arguments, BufferHandle** output,
                  std::vector<int64_t> not_donatable = {}) {
    BufferHandle* const* argument_lists[] = {arguments.data()};
    BufferHandle** output_lists[] = {output};
    EventHandle* events[1] = {};
    ExecuteOptions options{};
    options.struct_size = sizeof options;
    options.non_donatable_input_indices = not_donatable.data();
    options.num_non_donatable_input_indices = not_donatable.size();
    LoadedExecutable_Execute_Args args{};
    args.executable = loaded;
    args.options = &options;
    args.argument_lists = argument_lists;
    args.num_devices = 1;
    args.num_args = arguments.size();
    args.output_lists = output_lists;
    args.device_complete_events = events;
    Failure failure = CALL(LoadedExecutable_Execute, args);
    if (failure.message.empty()) {
      buffers_.insert(*output);
      failure = finish(events[0]);
    }
    return failure;
  }

  // On its device, where copies share their memory.
  BufferHandle* copy(BufferHandle* buffer) {
    Buffer_Device_Args device{};
    device.buffer = buffer;
    EXPECT_CALL_OK(Buffer_Device, device);
    Buffer_CopyToDevice_Args args{};
    args.buffer = buffer;
    args.dst_device = device.device;
    EXPECT_CALL_OK(Buffer_CopyToDevice, args);
    buffers_.insert(args.dst_buffer);
    return args.dst_buffer;
  }

  size_t address(BufferHandle* buffer) {
    Buffer_UnsafePointer_Args args{0, nullptr, buffer, 0};
    EXPECT_CALL_OK(Buffer_UnsafePointer, args);
    return args.buffer_pointer;
  }

  bool deleted(BufferHandle* buffer) {
    Buffer_IsDeleted_Args args{0, nullptr, buffer, false};
    EXPECT_CALL_OK(Buffer_IsDeleted, args);
    return args.is_deleted;
  }

  ClientHandle* client_ = nullptr;
  std::set<BufferHandle*> buffers_;
  std::vector<LoadedHandle*> loaded_;
};

std::string add_program(const std::string& attributes = "") {
  return "module @m { func.func public @main(%a: tensor<4xf32>" + attributes +
         ", %b: tensor<4xf32>) -> tensor<4xf32> {\n"
         "  %0 = stablehlo.add %a, %b : tensor<4xf32>\n  return %0 : tensor<4xf32>\n} }";
}

constexpr float kOnes[] = {1, 2, 3, 4}, kTens[] = {10, 20, 30, 40};

TEST(PluginTable, HasVersionAndAFunctionInEverySlot) {
  EXPECT_EQ(api().struct_size, 1144u);
  EXPECT_EQ(api().version.struct_size, 24u);
  EXPECT_EQ(api().version.major, 0);
  EXPECT_EQ(api().version.minor, 104);
  for (SlotFunction function : api().slots) EXPECT_NE(function, nullptr);
}

TEST(PluginTable, WhatIsNotImplementedNamesItself) {
  Device_GetAttributes_Args args{};  // any struct will do
  Failure failure = call(Slot::kClient_DmaMap, args);
  EXPECT_EQ(failure.status, 12u);
  EXPECT_THAT(failure.message, HasSubstr("PJRT_Client_DmaMap"));
}

TEST_F(PluginTest, AddsOnTheDevice) {
  LoadedHandle* loaded = nullptr;
  ASSERT_EQ(compile(add_program(), &loaded).message, "");
  BufferHandle* output = nullptr;
  BufferHandle* a = upload(ElementType::kF32, kOnes, {4});
  BufferHandle* b = upload(ElementType::kF32, kTens, {4});
  ASSERT_EQ(execute(loaded, {a, b}, &output).message, "");
  EXPECT_THAT(download<float>(output), ElementsAre(11, 22, 33, 44));
  EXPECT_FALSE(deleted(a));
}

TEST_F(PluginTest, HonoursByteStrides) {
  const int16_t values[] = {0, 1, 2, 3, 4, 5};
  BufferHandle* transposed = upload(ElementType::kS16, values, {3, 2}, {2, 6});
  EXPECT_THAT(download<int16_t>(transposed), ElementsAre(0, 3, 1, 4, 2, 5));
  BufferHandle* backwards = upload(ElementType::kS16, values + 5, {3}, {-4});
  EXPECT_THAT(download<int16_t>(backwards), ElementsAre(5, 3, 1));
  BufferHandle* repeated = upload(ElementType::kS16, values + 1, {3}, {0});
  EXPECT_THAT(download<int16_t>(repeated), ElementsAre(1, 1, 1));
  EXPECT_THAT(download<int16_t>(upload(ElementType::kS16, values, {0, 3}, {6, 2})), ElementsAre());
}

TEST_F(PluginTest, MemoryGivenAwayIsNotCopied) {
  alignas(16) static const float values[] = {1, 2, 3, 4};
  const int64_t dims[] = {4};
  Client_BufferFromHostBuffer_Args args{};
  args.client = client_;
  args.data = values;
  args.type = ElementType::kF32;
  args.dims = dims;
  args.num_dims = 1;
  args.host_buffer_semantics = 3;  // mutable zero copy
  EXPECT_CALL_OK(Client_BufferFromHostBuffer, args);
  Buffer_UnsafePointer_Args pointer{0, nullptr, args.buffer, 0};
  EXPECT_CALL_OK(Buffer_UnsafePointer, pointer);
  EXPECT_EQ(pointer.buffer_pointer, reinterpret_cast<uintptr_t>(values));
  Event_IsReady_Args released{0, nullptr, args.done_with_host_buffer, false};
  EXPECT_CALL_OK(Event_IsReady, released);
  EXPECT_FALSE(released.is_ready);
  Buffer_Destroy_Args destroy{0, nullptr, args.buffer};
  EXPECT_CALL_OK(Buffer_Destroy, destroy);
  EXPECT_EQ(finish(args.done_with_host_buffer).message, "");
}

TEST_F(PluginTest, DonatedArgumentsAreUsedUp) {
  LoadedHandle* loaded = nullptr;
  ASSERT_EQ(compile(add_program(" {tf.aliasing_output = 0 : i32}"), &loaded).message, "");
  BufferHandle* a = upload(ElementType::kF32, kOnes, {4});
  BufferHandle* b = upload(ElementType::kF32, kTens, {4});
  BufferHandle* output = nullptr;
  ASSERT_EQ(execute(loaded, {a, b}, &output, {0}).message, "");
  EXPECT_FALSE(deleted(a));
  ASSERT_EQ(execute(loaded, {a, b}, &output).message, "");
  EXPECT_TRUE(deleted(a));
  EXPECT_FALSE(deleted(b));
  EXPECT_THAT(download<float>(output), ElementsAre(11, 22, 33, 44));
  EXPECT_THAT(execute(loaded, {a, b}, &output).message, HasSubstr("Argument (0) was deleted"));
}

TEST_F(PluginTest, ADonatedArgumentIsNoOtherArgument) {
  LoadedHandle* loaded = nullptr;
  ASSERT_EQ(compile(add_program(" {tf.aliasing_output = 0 : i32}"), &loaded).message, "");
  BufferHandle* a = upload(ElementType::kF32, kOnes, {4});
  BufferHandle* output = nullptr;
  EXPECT_THAT(execute(loaded, {a, a}, &output).message,
              HasSubstr("Argument (0) is donated, and the same buffer is argument (1)"));
  EXPECT_FALSE(deleted(a));
  ASSERT_EQ(execute(loaded, {a, a}, &output, {0}).message, "");
  EXPECT_THAT(download<float>(output), ElementsAre(2, 4, 6, 8));
}

TEST_F(PluginTest, AnOutputTakesTheMemoryDonatedToIt) {
  LoadedHandle* loaded = nullptr;
  ASSERT_EQ(compile(add_program(" {tf.aliasing_output = 0 : i32}"), &loaded).message, "");
  BufferHandle* b = upload(ElementType::kF32, kTens, {4});
  BufferHandle* output = nullptr;
  BufferHandle* alone = upload(ElementType::kF32, kOnes, {4});
  size_t before = address(alone);
  ASSERT_EQ(execute(loaded, {alone, b}, &output).message, "");
  EXPECT_EQ(address(output), before);
  EXPECT_THAT(download<float>(output), ElementsAre(11, 22, 33, 44));

  BufferHandle* shared = upload(ElementType::kF32, kOnes, {4});
  before = address(shared);
  ASSERT_EQ(execute(loaded, {shared, copy(shared)}, &output).message, "");
  EXPECT_NE(address(output), before);
  EXPECT_THAT(download<float>(output), ElementsAre(2, 4, 6, 8));

  BufferHandle* read = upload(ElementType::kF32, kOnes, {4});  // somebody reads it in place
  auto values = reinterpret_cast<const float*>(address(read));
  Buffer_IncreaseExternalReferenceCount_Args hold{0, nullptr, read};
  EXPECT_CALL_OK(Buffer_IncreaseExternalReferenceCount, hold);
  ASSERT_EQ(execute(loaded, {read, b}, &output).message, "");
  EXPECT_EQ(values[3], 4);
  Buffer_DecreaseExternalReferenceCount_Args drop{0, nullptr, read};
  EXPECT_CALL_OK(Buffer_DecreaseExternalReferenceCount, drop);
}

// Eager operations compile tiny programs all the time. They are found by what they compute
// (program_cache_test): where in the source they come from makes no difference.
TEST_F(PluginTest, PlacesInTheSourceMakeNoOtherProgram) {
  auto fingerprint = [&](const std::string& source) {
    LoadedHandle* loaded = nullptr;
    EXPECT_EQ(compile(source, &loaded).message, "");
    LoadedExecutable_Fingerprint_Args args{0, nullptr, loaded, nullptr, 0};
    EXPECT_CALL_OK(LoadedExecutable_Fingerprint, args);
    return std::string(args.executable_fingerprint, args.executable_fingerprint_size);
  };
  std::string program = fingerprint(add_program());
  EXPECT_EQ(fingerprint(add_program() + " loc(\"model.py\":1:1)"), program);
  EXPECT_EQ(fingerprint(add_program() + " loc(\"model.py\":2:1)"), program);
  std::string other = add_program();
  other.replace(other.find("add %a"), 3, "multiply");
  EXPECT_NE(fingerprint(other), program);
}

TEST_F(PluginTest, CompilerOptionsNobodyHasAreRefused) {
  const std::string source = add_program();
  // CompileOptionsProto: field 7 holds entries of a map, whose field 1 is the key.
  const std::string options = std::string("\x3a\x08\x0a\x06") + "bright";
  ProgramText text{sizeof text, nullptr, source.data(), source.size(), "mlir", 4};
  Client_Compile_Args args{};
  args.client = client_;
  args.program = &text;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  Failure failure = CALL(Client_Compile, args);
  EXPECT_EQ(failure.status, 3u);
  EXPECT_THAT(failure.message, HasSubstr("No such compile option: 'bright'"));
}

TEST_F(PluginTest, FailuresAreErrorsWithACode) {
  LoadedHandle* loaded = nullptr;
  EXPECT_EQ(compile("no program", &loaded).status, 3u);
  ASSERT_EQ(compile(add_program(), &loaded).message, "");
  BufferHandle* output = nullptr;
  BufferHandle* a = upload(ElementType::kF32, kOnes, {4});
  BufferHandle* short_one = upload(ElementType::kF32, kOnes, {3});
  EXPECT_THAT(execute(loaded, {a}, &output).message, HasSubstr("takes (2) arguments, not (1)"));
  Failure failure = execute(loaded, {a, short_one}, &output);
  EXPECT_EQ(failure.status, 3u);
  EXPECT_THAT(failure.message, HasSubstr("Argument (1) must have type (4xf32), not (3xf32)"));
  Buffer_Delete_Args args{0, nullptr, a};
  EXPECT_CALL_OK(Buffer_Delete, args);
  Buffer_ToHostBuffer_Args to_host{};
  std::vector<float> values(4);
  to_host.src = a;
  to_host.dst = values.data();
  to_host.dst_size = 16;
  EXPECT_THAT(CALL(Buffer_ToHostBuffer, to_host).message, HasSubstr("was deleted"));
}

TEST_F(PluginTest, SerializedExecutablesRunAgain) {
  LoadedHandle* loaded = nullptr;
  ASSERT_EQ(compile(add_program(), &loaded).message, "");
  LoadedExecutable_GetExecutable_Args get{0, nullptr, loaded, nullptr};
  EXPECT_CALL_OK(LoadedExecutable_GetExecutable, get);
  Executable_Serialize_Args serialize{};
  serialize.executable = get.executable;
  EXPECT_CALL_OK(Executable_Serialize, serialize);
  Executable_DeserializeAndLoad_Args load{};
  load.client = client_;
  load.serialized_executable = serialize.serialized_bytes;
  load.serialized_executable_size = serialize.serialized_bytes_size;
  EXPECT_CALL_OK(Executable_DeserializeAndLoad, load);
  serialize.serialized_executable_deleter(serialize.serialized_executable);
  Executable_Destroy_Args destroy_args{0, nullptr, get.executable};
  EXPECT_CALL_OK(Executable_Destroy, destroy_args);
  loaded_.push_back(load.loaded_executable);
  BufferHandle* output = nullptr;
  BufferHandle* a = upload(ElementType::kF32, kOnes, {4});
  ASSERT_EQ(execute(load.loaded_executable, {a, a}, &output).message, "");
  EXPECT_THAT(download<float>(output), ElementsAre(2, 4, 6, 8));
}

TEST_F(PluginTest, MemoryInUseGoesBackToNothing) {
  Client_AddressableDevices_Args devices{};
  devices.client = client_;
  EXPECT_CALL_OK(Client_AddressableDevices, devices);
  Device_MemoryStats_Args stats{};
  stats.device = devices.addressable_devices[0];
  BufferHandle* a = upload(ElementType::kF32, kOnes, {4});
  EXPECT_CALL_OK(Device_MemoryStats, stats);
  EXPECT_EQ(stats.bytes_in_use, 16);
  Buffer_Delete_Args args{0, nullptr, a};
  EXPECT_CALL_OK(Buffer_Delete, args);
  EXPECT_CALL_OK(Device_MemoryStats, stats);
  EXPECT_EQ(stats.bytes_in_use, 0);
  EXPECT_EQ(stats.peak_bytes_in_use, 16);
}

}  // namespace
}  // namespace tuff::pjrt
