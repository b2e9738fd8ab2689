// Buffers: copies, imports, DLPack.
#include "c_api.h"

extern "C" {
struct DLManagedTensor {  // of dlpack.h
  struct {
    void* data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
  } tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};
}

namespace tuff_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(CApi, BuffersHoldCopies) {
  std::vector<float> given = {1, 2, 3};
  tuff_buffer* made = buffer(given, {3});
  given[0] = 9;
  EXPECT_THAT(values(made), ElementsAre(1, 2, 3));
  EXPECT_EQ(tuff_buffer_write(made, given.data(), 12), TUFF_OK);
  EXPECT_THAT(values(made), ElementsAre(9, 2, 3));
  tuff_tensor_type type = TUFF_INIT(tuff_tensor_type);
  ASSERT_EQ(tuff_buffer_type(made, &type), TUFF_OK);
  EXPECT_EQ(type.dtype, TUFF_F32);
  ASSERT_EQ(type.rank, 1u);
  EXPECT_EQ(type.shape[0], 3);
  EXPECT_EQ(tuff_buffer_read(made, given.data(), 8), TUFF_INVALID_ARGUMENT);
  EXPECT_THAT(tuff_last_error(), HasSubstr("takes (12) bytes, not (8)"));
  tuff_buffer_destroy(made);
}

TEST_F(CApi, BuffersWithoutDataAreZeroAndMayBeEmpty) {
  std::vector<int64_t> shape = {2, 2}, empty = {0, 7};
  tuff_tensor_type type = f32(shape), none = f32(empty);
  tuff_buffer *zeros = nullptr, *nothing = nullptr;
  ASSERT_EQ(tuff_buffer_create(device_, &type, nullptr, &zeros), TUFF_OK);
  EXPECT_THAT(values(zeros), ElementsAre(0, 0, 0, 0));
  ASSERT_EQ(tuff_buffer_create(device_, &none, nullptr, &nothing), TUFF_OK);
  EXPECT_EQ(tuff_buffer_size(nothing), 0u);
  EXPECT_EQ(tuff_buffer_read(nothing, nullptr, 0), TUFF_OK);
  tuff_buffer_destroy(zeros), tuff_buffer_destroy(nothing);
}

TEST_F(CApi, ImpossibleTypesAreRefused) {
  tuff_buffer* none = nullptr;
  std::vector<int64_t> huge = {int64_t{1} << 40, int64_t{1} << 40}, negative = {-1};
  tuff_tensor_type type = f32(huge);
  EXPECT_EQ(tuff_buffer_create(device_, &type, nullptr, &none), TUFF_INVALID_ARGUMENT);
  type = f32(negative);
  EXPECT_EQ(tuff_buffer_create(device_, &type, nullptr, &none), TUFF_INVALID_ARGUMENT);
  type.rank = 0xFFFFFFFF;  // more sizes than lie there are not read
  EXPECT_EQ(tuff_buffer_create(device_, &type, nullptr, &none), TUFF_INVALID_ARGUMENT);
  EXPECT_THAT(tuff_last_error(), HasSubstr("4294967295"));
  huge = {int64_t{1} << 50};
  type = f32(huge);
  EXPECT_EQ(tuff_buffer_create(device_, &type, nullptr, &none), TUFF_OUT_OF_MEMORY);
  type = f32({});
  type.dtype = 77;
  EXPECT_EQ(tuff_buffer_create(device_, &type, nullptr, &none), TUFF_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
}

TEST_F(CApi, ImportedMemoryIsTheCallersUntilReleased) {
  alignas(64) static float data[4] = {1, 2, 3, 4};
  int released = 0;
  tuff_tensor_type type = TUFF_INIT(tuff_tensor_type);
  int64_t shape[] = {4};
  type.dtype = TUFF_F32, type.rank = 1, type.shape = shape;
  tuff_buffer* made = nullptr;
  ASSERT_EQ(
      tuff_buffer_import_host(
          device_, &type, data, [](void* count) { ++*static_cast<int*>(count); }, &released, &made),
      TUFF_OK);
  const void* where = nullptr;
  ASSERT_EQ(tuff_buffer_host_data(made, &where), TUFF_OK);
  EXPECT_EQ(where, data) << "no copy";
  EXPECT_EQ(tuff_buffer_write(made, data, sizeof data), TUFF_INVALID_ARGUMENT);
  EXPECT_EQ(released, 0);
  tuff_buffer_destroy(made);
  EXPECT_EQ(released, 1);
}

TEST_F(CApi, UnalignedMemoryIsCopiedAndReleasedAtOnce) {
  alignas(64) static char data[12];
  int released = 0;
  int64_t shape[] = {2};
  tuff_tensor_type type = {sizeof type, TUFF_F32, 1, shape};
  tuff_buffer* made = nullptr;
  ASSERT_EQ(tuff_buffer_import_host(
                device_, &type, data + 1, [](void* count) { ++*static_cast<int*>(count); },
                &released, &made),
            TUFF_OK);
  EXPECT_EQ(released, 1);
  tuff_buffer_destroy(made);
  EXPECT_EQ(released, 1);
}

TEST_F(CApi, DlpackGoesOutAndIn) {
  tuff_buffer* made = buffer({1, 2, 3, 4, 5, 6}, {2, 3});
  DLManagedTensor* exported = nullptr;
  ASSERT_EQ(tuff_buffer_export_dlpack(made, &exported), TUFF_OK);
  EXPECT_EQ(exported->tensor.ndim, 2);
  EXPECT_EQ(exported->tensor.strides[0], 3);
  EXPECT_EQ(static_cast<float*>(exported->tensor.data)[5], 6);
  tuff_buffer_destroy(made);  // the tensor keeps the memory
  tuff_buffer* back = nullptr;
  ASSERT_EQ(tuff_buffer_import_dlpack(device_, exported, &back), TUFF_OK);
  EXPECT_THAT(values(back), ElementsAre(1, 2, 3, 4, 5, 6));
  tuff_buffer_destroy(back);  // calls the deleter; a second call would crash
}

TEST_F(CApi, DlpackWithStridesIsCopied) {
  static float data[] = {1, 2, 3, 4, 5, 6};
  static bool deleted = false;
  int64_t shape[] = {3, 2}, strides[] = {1, 3};  // the transpose of 2x3
  DLManagedTensor tensor{};
  tensor.tensor = {data, 1, 0, 2, 2, 32, 1, shape, strides, 0};
  tensor.deleter = [](DLManagedTensor*) { deleted = true; };
  tuff_buffer* made = nullptr;
  ASSERT_EQ(tuff_buffer_import_dlpack(device_, &tensor, &made), TUFF_OK) << tuff_last_error();
  EXPECT_TRUE(deleted);
  EXPECT_THAT(values(made), ElementsAre(1, 4, 2, 5, 3, 6));
  tuff_buffer_destroy(made);
}

TEST_F(CApi, DlpackOfOtherDevicesOrTypesStaysTheCallers) {
  static bool deleted = false;
  float data[] = {1};
  DLManagedTensor tensor{};
  tensor.tensor = {data, 2, 0, 0, 2, 32, 1, nullptr, nullptr, 0};  // CUDA
  tensor.deleter = [](DLManagedTensor*) { deleted = true; };
  tuff_buffer* none = nullptr;
  EXPECT_EQ(tuff_buffer_import_dlpack(device_, &tensor, &none), TUFF_UNSUPPORTED);
  tensor.tensor.device_type = 1, tensor.tensor.code = 5, tensor.tensor.bits = 32;  // complex halves
  EXPECT_EQ(tuff_buffer_import_dlpack(device_, &tensor, &none), TUFF_UNSUPPORTED);
  tensor.tensor.code = 2, tensor.tensor.data = nullptr;
  EXPECT_EQ(tuff_buffer_import_dlpack(device_, &tensor, &none), TUFF_INVALID_ARGUMENT);
  tensor.tensor.ndim = 1;
  EXPECT_EQ(tuff_buffer_import_dlpack(device_, &tensor, &none), TUFF_INVALID_ARGUMENT);
  EXPECT_FALSE(deleted);
  EXPECT_EQ(none, nullptr);
}

}  // namespace
}  // namespace tuff_test
