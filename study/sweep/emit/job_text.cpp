#include "study/sweep/emit/job_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "study/text/shell_text.hpp"

namespace pipeloom::sweep {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

bool is_letter_or_digit(char c) {
  return kLetters.find(c) != std::string_view::npos;
}

std::string_view name_of_path(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// Job files are text by the line: refuses texts that would break a line.
void require_one_line(std::string_view what, std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character next = utf8_character(text.substr(at));
    if (next.length == 0 || !is_printable(next.code))
      throw InputError(Where{"--emit"},
                       fmt::format("{} '{}' holds a line break, another control character or what is not "
                                   "UTF-8; a job file cannot; rename it",
                                   what, shortened(text, 80)));
    at += next.length;
  }
}

std::string words(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& word : list) out += ' ' + study::shell_word(word);
  return out;
}

}  // namespace

std::string shard_path(std::string_view out, std::string_view index, int shards) {
  const SplitPath path = split_path(out);
  return fmt::format("{}.{}-of-{}{}", path.stem, index, shards, path.extension);
}

SplitPath split_path(std::string_view path) {
  const std::size_t name = path.rfind('/') + 1;  // npos + 1 is 0
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos || dot <= name) return {path, {}};
  return {path.substr(0, dot), path.substr(dot)};
}

std::string plain_name(std::string_view out) {
  std::string name(name_of_path(split_path(out).stem));
  for (char& c : name)
    if (!is_letter_or_digit(c) && c != '.' && c != '-') c = '_';
  return name;
}

void require_plain(const JobDescription& job) {
  require_one_line("the program's path", job.program);
  require_one_line("the folder", job.folder);
  require_one_line("the result's path", job.out);
  for (const std::string& word : job.arguments) require_one_line("the argument", word);
  for (const std::string& text : job.directives) require_one_line("the directive", text);
  if (job.out.empty() || job.out == "-")
    throw InputError(Where{"--emit"},
                     "shards are written to files, and standard output is none; name one with -o");
}

int shards_at_once(const JobDescription& job) {
  return std::min(job.shards, job.at_once > 0 ? job.at_once : kDefaultAtOnce);
}

std::string merge_command(const JobDescription& job) {
  const SplitPath path = split_path(job.out);
  return fmt::format("{} merge {}.[0-9]*-of-{}{} -o {} --force", study::shell_word(job.program),
                     study::shell_word(path.stem), job.shards,
                     path.extension.empty() ? "" : study::shell_word(path.extension),
                     study::shell_word(job.out));
}

std::string shard_command(const JobDescription& job, std::string_view threads) {
  const SplitPath path = split_path(job.out);
  return fmt::format("exec {} sweep{} --shard \"$i/{}\" --resume -j {} -o {}.\"$i\"-of-{}{}",
                     study::shell_word(job.program), words(job.arguments), job.shards, threads,
                     study::shell_word(path.stem), job.shards,
                     path.extension.empty() ? "" : study::shell_word(path.extension));
}

}  // namespace pipeloom::sweep
