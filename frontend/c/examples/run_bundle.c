/* Runs a model on seeded inputs and prints what comes out: run_bundle MODEL [DEVICE]
 *
 * MODEL is whatever `tuff run` takes: a bundle's directory, a .mlir or .onnx file. DEVICE is auto
 * (the default), vulkan, vulkan:1, cpu. */
#include <stdio.h>
#include <stdlib.h>
#include <tuff.h>

/* Says what went wrong, and where in the model; the program's exit code is the status. */
static void check(tuff_status status, const char* what) {
  if (status == TUFF_OK) return;
  const char* where = tuff_last_error_location();
  fprintf(stderr, "run_bundle: %s: %s: %s%s%s\n", what, tuff_status_name(status), where,
          where[0] != 0 ? ": " : "", tuff_last_error());
  exit(status);
}

/* A buffer for an argument, with numbers that follow from the element's place: x = (i mod 17) / 17.
 */
static tuff_buffer* seeded(tuff_device* device, const tuff_value_info* argument) {
  tuff_tensor_type type = TUFF_INIT(tuff_tensor_type);
  type.dtype = argument->dtype, type.rank = argument->rank, type.shape = argument->shape;
  tuff_buffer* buffer = NULL;
  check(tuff_buffer_create(device, &type, NULL, &buffer), argument->name); /* zeros */
  if (type.dtype != TUFF_F32) return buffer;
  size_t count = tuff_buffer_size(buffer) / sizeof(float);
  float* values = malloc(count * sizeof(float));
  if (!values) exit(TUFF_OUT_OF_MEMORY);
  for (size_t i = 0; i < count; ++i) values[i] = (float)(i % 17) / 17;
  check(tuff_buffer_write(buffer, values, count * sizeof(float)), argument->name);
  free(values);
  return buffer;
}

static void print(size_t index, const tuff_value_info* result, const tuff_buffer* buffer) {
  printf("result %zu %s: %s[", index, result->name, tuff_dtype_name(result->dtype));
  for (uint32_t d = 0; d < result->rank; ++d)
    printf("%s%lld", d ? ", " : "", (long long)result->shape[d]);
  printf("]");
  size_t size = tuff_buffer_size(buffer);
  float* values = malloc(size ? size : 1);
  if (!values) exit(TUFF_OUT_OF_MEMORY);
  check(tuff_buffer_read(buffer, values, size), result->name);
  if (result->dtype == TUFF_F32)
    for (size_t i = 0; i < size / sizeof(float) && i < 4; ++i) printf(" %g", values[i]);
  printf("\n");
  free(values);
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: run_bundle MODEL [auto|vulkan|vulkan:N|cpu]\n");
    return TUFF_INVALID_ARGUMENT;
  }
  tuff_context* context = NULL;
  tuff_device* device = NULL;
  tuff_program* program = NULL;
  check(tuff_context_create(NULL, &context), "context");
  check(tuff_device_open(context, argc > 2 ? argv[2] : "auto", &device), "device");
  tuff_compile_options options = TUFF_INIT(tuff_compile_options);
  options.path = argv[1];
  check(tuff_program_compile(device, &options, &program), argv[1]);

  tuff_device_info where = TUFF_INIT(tuff_device_info);
  tuff_program_info info = TUFF_INIT(tuff_program_info);
  check(tuff_device_get_info(device, &where), "device");
  check(tuff_program_get_info(program, &info), "program");
  printf("%s: %zu operations in %zu steps of %zu kernels, %zu on the host\n", where.name,
         info.num_operations, info.num_steps, info.num_kernels, info.num_host_steps);

  tuff_buffer** arguments = calloc(info.num_arguments + 1, sizeof *arguments);
  tuff_buffer** results = calloc(info.num_results + 1, sizeof *results);
  if (!arguments || !results) return TUFF_OUT_OF_MEMORY;
  for (size_t i = 0; i < info.num_arguments; ++i) {
    tuff_value_info argument = TUFF_INIT(tuff_value_info);
    check(tuff_program_argument(program, i, &argument), "argument");
    if (!argument.is_bound)
      arguments[i] = seeded(device, &argument); /* weights came with the model */
  }
  check(tuff_program_run(program, NULL, arguments, info.num_arguments, results, info.num_results),
        "run");
  for (size_t i = 0; i < info.num_results; ++i) {
    tuff_value_info result = TUFF_INIT(tuff_value_info);
    check(tuff_program_result(program, i, &result), "result");
    print(i, &result, results[i]);
  }

  for (size_t i = 0; i < info.num_arguments; ++i) tuff_buffer_destroy(arguments[i]);
  for (size_t i = 0; i < info.num_results; ++i) tuff_buffer_destroy(results[i]);
  free(arguments), free(results);
  tuff_program_destroy(program);
  tuff_device_destroy(device);
  tuff_context_destroy(context);
  return 0;
}
