#include "shaders/kernel/kernel_walk.h"

namespace tuff {

bool is_loop(Stmt::Kind kind) {
  return kind == Stmt::Kind::kSerial || kind == Stmt::Kind::kUnroll || kind == Stmt::Kind::kLane;
}

bool is_pure(Stmt::Kind kind) {
  return kind == Stmt::Kind::kCompute || kind == Stmt::Kind::kConvert ||
         kind == Stmt::Kind::kBitcast || kind == Stmt::Kind::kPack;
}

bool is_let(Stmt::Kind kind) {
  return is_pure(kind) || kind == Stmt::Kind::kLoad || kind == Stmt::Kind::kRead;
}

bool is_matrix(Stmt::Kind kind) {
  return kind == Stmt::Kind::kMatrixClear || kind == Stmt::Kind::kMatrixMultiply ||
         kind == Stmt::Kind::kMatrixStore;
}

int64_t reduced_lanes(const Kernel& kernel, const Stmt& stmt) {
  return stmt.target == 0 ? kernel.lanes : stmt.target;
}

bool is_scope(Stmt::Kind kind) {
  return is_loop(kind) || kind == Stmt::Kind::kWhile || kind == Stmt::Kind::kIf;
}

}  // namespace tuff
