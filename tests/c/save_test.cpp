// Programs as files: they run as before, and loading compiles nothing.
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "c_api.h"

namespace tuff_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class Save : public CApi {
 protected:
  void SetUp() override {
    CApi::SetUp();
    char folder[] = "/tmp/tuff_save_XXXXXX";
    folder_ = mkdtemp(folder);
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    CApi::TearDown();
  }
  tuff_program* load(tuff_device* device, const std::string& path) {
    tuff_compile_options options = TUFF_INIT(tuff_compile_options);
    options.path = path.c_str();
    tuff_program* made = nullptr;
    EXPECT_EQ(tuff_program_compile(device, &options, &made), TUFF_OK) << tuff_last_error();
    return made;
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

TEST_F(Save, AProgramRunsFromItsFileWithWhatIsBound) {
  tuff_program* program = compile(add_text(2));
  tuff_buffer *one = buffer({1, 1}, {2}), *two = buffer({2, 3}, {2});
  ASSERT_EQ(tuff_program_bind(program, 0, one), TUFF_OK);
  ASSERT_EQ(tuff_program_save(program, path("p.tuff").c_str(), nullptr), TUFF_OK)
      << tuff_last_error();
  tuff_program* read = load(device_, path("p.tuff"));
  tuff_value_info value = TUFF_INIT(tuff_value_info);
  ASSERT_EQ(tuff_program_argument(read, 0, &value), TUFF_OK);
  EXPECT_STREQ(value.name, "x");
  EXPECT_TRUE(value.is_bound);
  tuff_buffer *arguments[] = {nullptr, two}, *result = nullptr;
  ASSERT_EQ(tuff_program_run(read, nullptr, arguments, 2, &result, 1), TUFF_OK);
  EXPECT_THAT(values(result), ElementsAre(3, 4));
  tuff_step_info step = TUFF_INIT(tuff_step_info);
  ASSERT_EQ(tuff_program_step(read, 0, &step), TUFF_OK);
  EXPECT_THAT(step.label, HasSubstr("test.mlir:2:8")) << "places in the source are kept";

  // Saved again it is the same file; without weights it wants them.
  ASSERT_EQ(tuff_program_save(read, path("again.tuff").c_str(), nullptr), TUFF_OK);
  EXPECT_EQ(bytes_of(path("again.tuff")), bytes_of(path("p.tuff")));
  tuff_save_options options = TUFF_INIT(tuff_save_options);
  options.without_weights = 1;
  ASSERT_EQ(tuff_program_save(read, path("bare.tuff").c_str(), &options), TUFF_OK);
  tuff_program* bare = load(device_, path("bare.tuff"));
  EXPECT_EQ(tuff_program_run(bare, nullptr, arguments, 2, &result, 1), TUFF_INVALID_ARGUMENT);
  for (tuff_buffer* made : {one, two, result}) tuff_buffer_destroy(made);
  for (tuff_program* made : {program, read, bare}) tuff_program_destroy(made);
}

TEST_F(Save, BytesOfAFileNeedNotOutliveTheCall) {
  std::string model = std::string(TUFF_TEST_DATA) + "/models/gpt2_tiny";
  tuff_program* program = load(device_, model);
  ASSERT_EQ(tuff_program_save(program, path("p.tuff").c_str(), nullptr), TUFF_OK);
  std::string bytes = bytes_of(path("p.tuff"));
  tuff_compile_options options = TUFF_INIT(tuff_compile_options);
  options.bytes = bytes.data(), options.num_bytes = bytes.size();
  tuff_program* read = nullptr;
  ASSERT_EQ(tuff_program_compile(device_, &options, &read), TUFF_OK) << tuff_last_error();
  std::fill(bytes.begin(), bytes.end(), '\0');
  ASSERT_EQ(tuff_program_save(read, path("again.tuff").c_str(), nullptr), TUFF_OK);
  EXPECT_EQ(bytes_of(path("again.tuff")), bytes_of(path("p.tuff")));
  tuff_program_destroy(program), tuff_program_destroy(read);
}

TEST_F(Save, FilesThatCannotBeWrittenOrRead) {
  tuff_program* program = compile(add_text(2));
  EXPECT_EQ(tuff_program_save(program, path("no/such/folder").c_str(), nullptr), TUFF_RUN_FAILED);
  EXPECT_EQ(tuff_program_save(program, folder_.c_str(), nullptr), TUFF_RUN_FAILED);
  EXPECT_EQ(tuff_program_save(program, nullptr, nullptr), TUFF_INVALID_ARGUMENT);
  EXPECT_EQ(tuff_program_save(nullptr, "p", nullptr), TUFF_INVALID_ARGUMENT);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));

  ASSERT_EQ(tuff_program_save(program, path("p.tuff").c_str(), nullptr), TUFF_OK);
  std::string bytes = bytes_of(path("p.tuff"));
  bytes[bytes.size() / 2] ^= 4;
  std::ofstream(path("p.tuff"), std::ios::binary) << bytes;
  tuff_compile_options options = TUFF_INIT(tuff_compile_options);
  std::string damaged = path("p.tuff");
  options.path = damaged.c_str();
  tuff_program* none = nullptr;
  EXPECT_EQ(tuff_program_compile(device_, &options, &none), TUFF_BAD_INPUT);
  EXPECT_THAT(tuff_last_error(), HasSubstr("damaged"));
  EXPECT_STREQ(tuff_last_error_location(), damaged.c_str());
  tuff_program_destroy(program);
}

// Two contexts without a cache on disk: the second can have the kernels from the file alone.
TEST_F(Save, NoKernelIsCompiledOnSuchADevice) {
  std::string model = std::string(TUFF_TEST_DATA) + "/models/gpt2_tiny";
  tuff_context_options options = TUFF_INIT(tuff_context_options);
  options.cache_directory = "";
  size_t compiled[2], kernels = 0;
  for (size_t& count : compiled) {
    tuff_context* context = nullptr;
    tuff_device* vulkan = nullptr;
    ASSERT_EQ(tuff_context_create(&options, &context), TUFF_OK);
    if (tuff_device_open(context, "vulkan", &vulkan) != TUFF_OK) {
      tuff_context_destroy(context);
      GTEST_SKIP() << "no Vulkan device: " << tuff_last_error();
    }
    tuff_program* program = load(vulkan, model);
    tuff_program_info info = TUFF_INIT(tuff_program_info);
    EXPECT_EQ(tuff_program_get_info(program, &info), TUFF_OK);
    count = info.num_kernels_compiled, kernels = info.num_kernels;
    model = path("p.tuff");
    EXPECT_EQ(tuff_program_save(program, model.c_str(), nullptr), TUFF_OK) << tuff_last_error();
    tuff_program_destroy(program), tuff_device_destroy(vulkan), tuff_context_destroy(context);
  }
  EXPECT_GT(kernels, 0u);
  EXPECT_EQ(compiled[0], kernels);
  EXPECT_EQ(compiled[1], 0u);
  // On another device the graph is compiled for that.
  tuff_program* elsewhere = load(device_, model);
  EXPECT_NE(elsewhere, nullptr);
  tuff_program_destroy(elsewhere);
}

}  // namespace
}  // namespace tuff_test
