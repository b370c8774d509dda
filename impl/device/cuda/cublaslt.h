#pragma once
// cuBLASLt, loaded at run time: nothing links to it, so a program that asks for no GPU starts
// without its 600 MB.
#include <cublasLt.h>

#include <string>

namespace shardproof {

/// The functions that we use.
#define SHARDPROOF_CUBLASLT(each)                                                            \
  each(Create) each(Destroy) each(GetStatusString) each(Matmul) each(MatmulAlgoGetHeuristic) \
      each(MatmulDescCreate) each(MatmulDescDestroy) each(MatmulDescSetAttribute)            \
          each(MatmulPreferenceCreate) each(MatmulPreferenceDestroy)                         \
              each(MatmulPreferenceSetAttribute) each(MatrixLayoutCreate)                    \
                  each(MatrixLayoutDestroy) each(MatrixLayoutSetAttribute)

struct CublasLt {
#define SHARDPROOF_CALL(name) decltype(&cublasLt##name) name = nullptr;
  SHARDPROOF_CUBLASLT(SHARDPROOF_CALL)
#undef SHARDPROOF_CALL
  std::string missing;  ///< why it is unavailable
};

/// Loaded at the first call.
const CublasLt& cublaslt();

}  // namespace shardproof
