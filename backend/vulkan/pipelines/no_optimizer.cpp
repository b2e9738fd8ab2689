// In the place of SPIRV-Tools' optimizer, a sixth of libtuff, where that would be linked from an
// archive: shaderc and glslang call it only when they are told to optimize, which compiler.cpp does
// not. They make an Optimizer before anything else of it.
#include <cstdlib>
#include <spirv-tools/optimizer.hpp>
#include <unordered_set>

namespace spvtools {

struct Optimizer::Impl {};
struct Optimizer::PassToken::Impl {};
using PassToken = Optimizer::PassToken;
namespace {
PassToken none() { return PassToken(std::unique_ptr<PassToken::Impl>()); }
}  // namespace

Optimizer::Optimizer(spv_target_env) { std::abort(); }
Optimizer::~Optimizer() = default;
Optimizer::PassToken::PassToken(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Optimizer::PassToken::PassToken(PassToken&&) = default;
Optimizer::PassToken::~PassToken() = default;

void Optimizer::SetMessageConsumer(MessageConsumer) {}
void Optimizer::SetTargetEnv(const spv_target_env) {}
Optimizer& Optimizer::RegisterPass(PassToken&&) { return *this; }
Optimizer& Optimizer::RegisterPerformancePasses() { return *this; }
Optimizer& Optimizer::RegisterSizePasses() { return *this; }
Optimizer& Optimizer::RegisterLegalizationPasses() { return *this; }
bool Optimizer::Run(const uint32_t*, size_t, std::vector<uint32_t>*,
                    const spv_optimizer_options) const {
  return false;
}

#define TUFF_NO_PASS(name, ...) \
  Optimizer::PassToken Create##name##Pass(__VA_ARGS__) { return none(); }
using Ids = std::unordered_set<uint32_t>;
TUFF_NO_PASS(AggressiveDCE)
TUFF_NO_PASS(AggressiveDCE, bool)
TUFF_NO_PASS(AggressiveDCE, bool, bool)
TUFF_NO_PASS(AnalyzeLiveInput, Ids*, Ids*)
TUFF_NO_PASS(BlockMerge)
TUFF_NO_PASS(CFGCleanup)
TUFF_NO_PASS(CompactIds)
TUFF_NO_PASS(DeadBranchElim)
TUFF_NO_PASS(DeadInsertElim)
TUFF_NO_PASS(EliminateDeadFunctions)
TUFF_NO_PASS(EliminateDeadInputComponents)
TUFF_NO_PASS(EliminateDeadInputComponentsSafe)
TUFF_NO_PASS(EliminateDeadOutputComponents)
TUFF_NO_PASS(EliminateDeadOutputStores, Ids*, Ids*)
TUFF_NO_PASS(IfConversion)
TUFF_NO_PASS(InlineExhaustive)
TUFF_NO_PASS(InterpolateFixup)
TUFF_NO_PASS(LocalAccessChainConvert)
TUFF_NO_PASS(LocalMultiStoreElim)
TUFF_NO_PASS(LocalSingleBlockLoadStoreElim)
TUFF_NO_PASS(LocalSingleStoreElim)
TUFF_NO_PASS(MergeReturn)
TUFF_NO_PASS(RedundancyElimination)
TUFF_NO_PASS(ScalarReplacement, uint32_t)
TUFF_NO_PASS(Simplification)
TUFF_NO_PASS(StripDebugInfo)
TUFF_NO_PASS(VectorDCE)
TUFF_NO_PASS(WrapOpKill)
#undef TUFF_NO_PASS

}  // namespace spvtools
