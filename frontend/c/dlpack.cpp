// Buffers from DLPack's tensors and back. The layouts are those of dlpack.h, versions 0.x.
#include <algorithm>

#include "backend/storage_convert.h"
#include "frontend/c/buffer.h"
#include "frontend/c/call.h"
#include "frontend/c/types.h"
#include "frontend/session/strided.h"
#include "frontend/session/tensor_io.h"

extern "C" {
struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};
}

namespace tuff::c {

namespace {

constexpr int32_t kHost = 1, kCudaHost = 3, kRocmHost = 11;  // DLDeviceType

struct DtypeRow {
  uint8_t code, bits;
  DType dtype;
};
constexpr DtypeRow kDtypes[] = {
    {6, 8, DType::kBool},        {0, 8, DType::kI8},          {0, 16, DType::kI16},
    {0, 32, DType::kI32},        {0, 64, DType::kI64},        {1, 8, DType::kU8},
    {1, 16, DType::kU16},        {1, 32, DType::kU32},        {1, 64, DType::kU64},
    {2, 16, DType::kF16},        {4, 16, DType::kBF16},       {2, 32, DType::kF32},
    {2, 64, DType::kF64},        {5, 64, DType::kC64},        {5, 128, DType::kC128},
    {7, 8, DType::kF8E3M4},      {8, 8, DType::kF8E4M3},      {9, 8, DType::kF8E4M3B11FNUZ},
    {10, 8, DType::kF8E4M3FN},   {11, 8, DType::kF8E4M3FNUZ}, {12, 8, DType::kF8E5M2},
    {13, 8, DType::kF8E5M2FNUZ}, {14, 8, DType::kF8E8M0FNU},
};
// DLPack packs elements of fewer than 8 bits.
constexpr int kNumPacked = 5;
static_assert(std::size(kDtypes) + kNumPacked == kNumElementTypes);

Result<TensorType> type_of(const DLTensor& tensor) {
  TensorType type;
  TUFF_ASSIGN(type.shape, shape_of(tensor.shape, tensor.ndim, "tensor.shape"));
  for (const DtypeRow& row : kDtypes) {
    if (row.code != tensor.dtype.code || row.bits != tensor.dtype.bits || tensor.dtype.lanes != 1)
      continue;
    type.dtype = row.dtype;
    return type;
  }
  return Error{ErrorCode::kUnsupported,
               fmt::format("The DLPack tensor's element type (code {}, {} bits, {} lanes) is not "
                           "one of tuff's.",
                           tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes),
               ""};
}

// The tensor's deleter, called with the last use; not where the import fails.
struct Taken {
  DLManagedTensor* tensor = nullptr;

  ~Taken() {
    if (tensor && tensor->deleter) tensor->deleter(tensor);
  }
};

Result<std::shared_ptr<BufferState>> import(const std::shared_ptr<DeviceState>& device,
                                            DLManagedTensor* managed) {
  const DLTensor& tensor = managed->dl_tensor;
  int32_t where = tensor.device.device_type;
  if (where != kHost && where != kCudaHost && where != kRocmHost)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("The DLPack tensor lies on a device (type {}); copy it to the host "
                             "first.",
                             where),
                 ""};
  TUFF_ASSIGN(TensorType type, type_of(tensor));
  if (type.num_elements() > 0) TUFF_RETURN_IF_ERROR(need(tensor.data, "tensor.data"));
  auto taken = std::make_shared<Taken>();
  const std::byte* data = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
  std::shared_ptr<BufferState> buffer;
  std::vector<int64_t> strides;
  for (int32_t i = 0; tensor.strides && i < tensor.ndim; ++i)
    strides.push_back(tensor.strides[i] * dtype_size(type.dtype));
  if (tensor.strides && type.num_elements() > 0 && !is_row_major(type, strides.data())) {
    TUFF_ASSIGN(buffer, create_buffer(device, gather_strided(type, data, strides.data())));
  } else {
    TUFF_ASSIGN(buffer, import_buffer(device, Literal(type, data, nullptr), taken));
  }
  taken->tensor = managed;
  return buffer;
}

// What an exported tensor keeps: the memory, which may be the device's own, and its shape.
struct Exported {
  DLManagedTensor tensor{};
  Literal value;
  std::vector<int64_t> shape, strides;
};

Result<DLManagedTensor*> export_buffer(const BufferState& buffer) {
  const DtypeRow* row =
      std::find_if(std::begin(kDtypes), std::end(kDtypes),
                   [&](const DtypeRow& candidate) { return candidate.dtype == buffer.type.dtype; });
  if (row == std::end(kDtypes))
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("DLPack has no element type ({}) of one byte; read the buffer instead.",
                    dtype_name(buffer.type.dtype)),
        ""};
  TUFF_ASSIGN(BufferPtr memory, buffer.ready_memory());
  auto exported = std::make_unique<Exported>();
  TUFF_ASSIGN(exported->value, read_literal(buffer.device->device(), memory, buffer.type));
  exported->shape = buffer.type.shape;
  exported->strides = row_major_strides(buffer.type.shape);
  DLTensor& tensor = exported->tensor.dl_tensor;
  tensor.data = const_cast<std::byte*>(exported->value.bytes());
  tensor.device = {kHost, 0};
  tensor.ndim = static_cast<int32_t>(exported->shape.size());
  tensor.shape = exported->shape.data();
  tensor.strides = exported->strides.data();
  tensor.dtype = {row->code, row->bits, 1};
  exported->tensor.manager_ctx = exported.get();
  exported->tensor.deleter = [](DLManagedTensor* self) {
    delete static_cast<Exported*>(self->manager_ctx);
  };
  return &exported.release()->tensor;
}

}  // namespace

}  // namespace tuff::c

using namespace tuff;     // NOLINT: the functions of tuff.h have no namespace
using namespace tuff::c;  // NOLINT

tuff_status tuff_buffer_import_dlpack(tuff_device* device, DLManagedTensor* tensor,
                                      tuff_buffer** buffer) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(device, "device"));
    TUFF_RETURN_IF_ERROR(need(tensor, "tensor"));
    TUFF_RETURN_IF_ERROR(need(buffer, "buffer"));
    auto handle = std::make_unique<tuff_buffer>();
    TUFF_ASSIGN(handle->state, c::import(device->state, tensor));
    *buffer = handle.release();
    return {};
  });
}

tuff_status tuff_buffer_export_dlpack(const tuff_buffer* buffer, DLManagedTensor** tensor) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(buffer, "buffer"));
    TUFF_RETURN_IF_ERROR(need(tensor, "tensor"));
    TUFF_ASSIGN(*tensor, export_buffer(*buffer->state));
    return {};
  });
}
