#pragma once

// Common parts of the job files of every scheduler: the commands in them, quoted.

#include <string>
#include <string_view>

#include "study/sweep/emit/emit.hpp"

namespace pipeloom::sweep {

/// A path in the parts that shards' names are made of: "dir/out" and ".jsonl".
struct SplitPath {
  std::string_view stem;
  std::string_view extension;  ///< with its dot; may be empty
};
[[nodiscard]] SplitPath split_path(std::string_view path);

/// The stem's file name with '_' for everything that is not plain: a name for jobs and logs.
[[nodiscard]] std::string plain_name(std::string_view out);

/// Throws InputError if a text has a line break or another control character, or the result is standard output.
void require_plain(const JobDescription& job);

/// How many shards run at the same time.
[[nodiscard]] int shards_at_once(const JobDescription& job);

/// The merge of every shard's file. It has --force, since it may run twice (a node that died after it), and the result's
/// name was free when the job was written.
[[nodiscard]] std::string merge_command(const JobDescription& job);

/// The shard whose number is in the shell's variable i; `threads` comes after -j.
[[nodiscard]] std::string shard_command(const JobDescription& job, std::string_view threads);

}  // namespace pipeloom::sweep
