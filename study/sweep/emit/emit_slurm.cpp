// Slurm: an array job, and a job after it.

#include <fmt/format.h>

#include <algorithm>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "study/sweep/emit/emit.hpp"
#include "study/sweep/emit/job_text.hpp"
#include "study/text/shell_text.hpp"

namespace pipeloom::sweep {
namespace {

/// A value on a #SBATCH line: sbatch knows double quotes and backslashes in them.
std::string sbatch_word(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// "--partition=short" of "#SBATCH --partition=short".
std::string sbatch_option(std::string_view text) {
  constexpr std::string_view kMark = "#SBATCH";
  if (text.substr(0, kMark.size()) == kMark) text.remove_prefix(kMark.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  if (text.size() < 2 || text.front() != '-')
    throw InputError(Where{"--directive"}, fmt::format("found '{}'; allowed is an option of sbatch, such as "
                                                       "--partition=short or --time=01:00:00",
                                                       shortened(text, 64)));
  if (text.substr(0, 7) == "--array" || text.substr(0, 2) == "-a")
    throw InputError(Where{"--directive"}, fmt::format("found '{}'; the array follows from --shards, and how "
                                                       "many of them run at once from --at-once",
                                                       shortened(text, 64)));
  return std::string(text);
}

std::string sbatch_lines(const JobDescription& job) {
  std::string out;
  for (const std::string& text : job.directives) out += fmt::format("#SBATCH {}\n", sbatch_option(text));
  return out;
}

void require_slurm_takes(const JobDescription& job) {
  if (job.shards > kMaxSlurmShards)
    throw InputError(
        Where{"--shards"},
        fmt::format("found {}; an array of Slurm holds at most {} tasks, as its MaxArraySize is 1001 unless "
                    "raised; use --shards {} or fewer, and more threads per shard with -j",
                    job.shards, kMaxSlurmShards, kMaxSlurmShards));
  if (job.folder.find('%') != std::string::npos)
    throw InputError(Where{"--emit"},
                     fmt::format("the folder '{}' holds a '%', which Slurm replaces in the names of logs; "
                                 "start from another folder",
                                 shortened(job.folder, 80)));
}

/// The first lines of both files. They name the folder twice: for the log, and because Slurm runs a job in /tmp, with no
/// more than a note, if a node lacks the folder.
std::string slurm_head(const JobDescription& job, std::string_view comment, std::string_view name,
                       std::string_view log) {
  return fmt::format(
      "#!/bin/bash\n"
      "# {} Written by pipeloom {}; paths start at the folder below.\n"
      "#SBATCH --job-name={}\n"
      "#SBATCH --chdir={}\n"
      "#SBATCH --output={}\n"
      "#SBATCH --open-mode=append\n"
      "#SBATCH --requeue\n",
      comment, job.version, name, sbatch_word(job.folder), log);
}

JobFile slurm_shards(const JobDescription& job, const std::string& name) {
  std::string text = slurm_head(
      job,
      fmt::format("A sweep in {} shards; tasks that failed: sbatch --array=3,5 and this file.", job.shards),
      name, fmt::format("{}.%a-of-{}.log", name, job.shards));
  text += fmt::format("#SBATCH --array=1-{}%{}\n#SBATCH --cpus-per-task={}\n", job.shards,
                      shards_at_once(job), job.threads);
  text += sbatch_lines(job);
  text += fmt::format("\ncd -- {} || exit 3\ni=$SLURM_ARRAY_TASK_ID\n{}\n", study::shell_word(job.folder),
                      shard_command(job, fmt::format("\"${{SLURM_CPUS_PER_TASK:-{}}}\"", job.threads)));
  return {std::string(split_path(job.out).stem) + ".slurm", text};
}

JobFile slurm_merge(const JobDescription& job, const std::string& name) {
  std::string text = slurm_head(job, fmt::format("Joins the {} shards of the sweep.", job.shards),
                                name + "-merge", name + ".merge.log");
  text += sbatch_lines(job);
  text += fmt::format("\ncd -- {} || exit 3\nexec {}\n", study::shell_word(job.folder), merge_command(job));
  return {std::string(split_path(job.out).stem) + ".merge.slurm", text};
}

}  // namespace

Jobs emit_slurm(const JobDescription& job) {
  require_plain(job);
  require_slurm_takes(job);
  const std::string name = plain_name(job.out);
  Jobs jobs;
  jobs.shards = slurm_shards(job, name);
  jobs.merge = slurm_merge(job, name);
  // afterok can never hold once a shard has failed; without --kill-on-invalid-dep the merge would wait for ever.
  jobs.commands = fmt::format(
      "job=$(sbatch --parsable {})\n"
      "sbatch --dependency=afterok:\"${{job%%;*}}\" --kill-on-invalid-dep=yes {}\n",
      study::shell_word(jobs.shards.path), study::shell_word(jobs.merge.path));
  return jobs;
}

}  // namespace pipeloom::sweep
