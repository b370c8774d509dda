#pragma once
// The language server: check-sharding --lsp.

namespace shardproof::lsp {

/// Reads messages from one file descriptor and writes to another until `exit`, or the end of the
/// input. Types are computed at once, proofs by a process beside it that a new text ends. Returns 0
/// after `shutdown`, else 1.
int serve(int in, int out);

}  // namespace shardproof::lsp
