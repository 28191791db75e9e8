#pragma once

// Job files: a sweep in shards for a cluster's scheduler, and the merge after it (docs/sweeps.md). Text from a description;
// nothing is read, written or started.
//
// Every shard runs `sweep ... --shard i/n --resume -o out.i-of-n.jsonl`, with n as a number in the file: a task that is requeued, or
// started once more by hand (`sbatch --array=3,5 out.slurm`), goes on with the very same shard.
//
// Paths are written as they were given. Relative ones are taken from `folder`, which the job enters first, wherever it is submitted from.

#include <string>
#include <string_view>
#include <vector>

namespace pipeloom::sweep {

struct JobDescription {
  std::string program;  ///< the command that starts Pipeloom where the job runs: a path or a name on its PATH
  std::string version;  ///< of Pipeloom; the default image of Kubernetes is named by it
  std::string folder;   ///< Slurm: where relative paths start; absolute
  /// Words after `sweep`, one entry per word, not quoted: the grid and the options that decide what is computed. Without
  /// -o, -j, --shard and --resume.
  std::vector<std::string> arguments;
  std::string out;  ///< the merged result
  int shards = 1;
  int at_once = 0;  ///< shards that run at the same time; 0: at most kDefaultAtOnce
  int threads = 1;  ///< per shard
  /// Slurm: options of sbatch, each for a #SBATCH line of its own, with or without "#SBATCH". Kubernetes: KEY=VALUE with a key of
  /// kubernetes_keys().
  std::vector<std::string> directives;
};

/// A file of `Jobs`, beside the result.
struct JobFile {
  std::string path;
  std::string text;
};

struct Jobs {
  JobFile shards;
  JobFile merge;
  /// Shell commands that submit both, the merge for when every shard is done. To be run in the folder where the paths start.
  std::string commands;
};

inline constexpr int kDefaultAtOnce = 64;
/// Tasks count from 1, and Slurm's MaxArraySize, 1001 unless an administrator raised it, is one above the largest number.
inline constexpr int kMaxSlurmShards = 1000;
inline constexpr int kMaxKubernetesShards = 10'000;

/// #SBATCH files: an array job and a job that merges. Throws InputError for more than kMaxSlurmShards shards, directives that are no
/// options or set the array, and paths that Slurm cannot take ('%' and line breaks in the folder).
[[nodiscard]] Jobs emit_slurm(const JobDescription& job);
/// Manifests: an indexed Job, and a Job that merges. Grid and results are on a volume that every pod mounts. Needs Kubernetes 1.29.
/// Throws InputError for more than kMaxKubernetesShards shards and directives that are not KEY=VALUE with a known key.
[[nodiscard]] Jobs emit_kubernetes(const JobDescription& job);

/// "image", "claim", "mount", "namespace", "cpu", "memory".
[[nodiscard]] std::vector<std::string> kubernetes_keys();

/// The file of shard `index`, a number or a shell's text for one: "out.jsonl" becomes "out.3-of-7.jsonl".
[[nodiscard]] std::string shard_path(std::string_view out, std::string_view index, int shards);

}  // namespace pipeloom::sweep
