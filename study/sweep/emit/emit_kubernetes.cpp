// Kubernetes: an indexed Job, and a Job after it. https://kubernetes.io/docs/concepts/workloads/controllers/job

#include <fmt/format.h>

#include <algorithm>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "study/sweep/emit/emit.hpp"
#include "study/sweep/emit/job_text.hpp"
#include "study/text/shell_text.hpp"

namespace pipeloom::sweep {
namespace {

struct Settings {
  std::string image;
  std::string claim = "pipeloom-results";
  std::string mount = "/results";
  std::string name_space;  ///< the current one if empty
  std::string cpu;
  std::string memory = "1Gi";
};

std::string* setting(Settings& settings, std::string_view key) {
  if (key == "image") return &settings.image;
  if (key == "claim") return &settings.claim;
  if (key == "mount") return &settings.mount;
  if (key == "namespace") return &settings.name_space;
  if (key == "cpu") return &settings.cpu;
  if (key == "memory") return &settings.memory;
  return nullptr;
}

Settings read_settings(const JobDescription& job) {
  Settings settings;
  settings.image = "pipeloom:" + job.version;
  settings.cpu = fmt::format("{}", job.threads);
  for (const std::string& text : job.directives) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals + 1 == text.size())
      throw InputError(Where{"--directive"},
                       fmt::format("found '{}'; allowed for Kubernetes is KEY=VALUE, such as "
                                   "image=registry.example/pipeloom:{}, with a key of: {}",
                                   shortened(text, 64), job.version, fmt::join(kubernetes_keys(), ", ")));
    std::string* const value = setting(settings, std::string_view(text).substr(0, equals));
    if (value == nullptr)
      throw InputError::unknown_name(Where{"--directive"}, "key", shortened(text.substr(0, equals), 64),
                                     kubernetes_keys());
    *value = text.substr(equals + 1);
  }
  if (settings.mount.front() != '/')
    throw InputError(
        Where{"--directive"},
        fmt::format("found mount={}; the volume's place in a pod is an absolute path such as /results",
                    shortened(settings.mount, 64)));
  return settings;
}

/// Names of objects are labels of DNS: small letters, digits and '-'; short, as pods add to them.
std::string object_name(std::string_view out) {
  std::string name = "pipeloom-" + plain_name(out);
  for (char& c : name) {
    c = lower(c);
    if (c == '_' || c == '.') c = '-';
  }
  name = name.substr(0, 40);
  while (name.back() == '-') name.pop_back();
  return name;
}

/// A text in double quotes, which YAML reads as JSON does. Control characters were refused.
std::string yaml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// Kubernetes replaces $(NAME) in a container's words, and makes $ of $$.
std::string without_references(const std::string& script) {
  if (script.find("$(") == std::string::npos && script.find("$$") == std::string::npos) return script;
  std::string out;
  for (const char c : script) {
    if (c == '$') out += '$';
    out += c;
  }
  return out;
}

std::string head(const Settings& settings, std::string_view comment, std::string_view name) {
  const std::string name_space =
      settings.name_space.empty() ? "" : fmt::format("  namespace: {}\n", yaml_text(settings.name_space));
  return fmt::format(
      "# {}\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {}\n{}  labels:\n"
      "    app.kubernetes.io/name: pipeloom\nspec:\n",
      comment, name, name_space);
}

/// From "template" on. The shell is there for the shard's number, which counts from 1, and for the merge's pattern.
std::string pod(const Settings& settings, std::string_view cpu, const std::vector<std::string>& script) {
  std::string lines;
  for (const std::string& line : script) lines += "          " + without_references(line) + '\n';
  return fmt::format(
      "  template:\n    spec:\n      restartPolicy: Never\n      containers:\n      - name: pipeloom\n"
      "        image: {}\n        workingDir: {}\n        command: [\"/bin/sh\", \"-c\"]\n        args:\n    "
      "    - |\n"
      "{}"
      "        resources:\n          requests: {{cpu: {}, memory: {}}}\n"
      "        volumeMounts:\n        - {{name: results, mountPath: {}}}\n"
      "      volumes:\n      - name: results\n        persistentVolumeClaim: {{claimName: {}}}\n",
      yaml_text(settings.image), yaml_text(settings.mount), lines, yaml_text(cpu), yaml_text(settings.memory),
      yaml_text(settings.mount), yaml_text(settings.claim));
}

JobFile shards_file(const JobDescription& job, const Settings& settings, const std::string& name) {
  std::string text =
      head(settings,
           fmt::format("A sweep in {} shards. Written by pipeloom {}; relative paths start at the "
                       "volume's mount,\n# which the pods of several nodes write: ReadWriteMany. "
                       "Kubernetes 1.29 or later.",
                       job.shards, job.version),
           name);
  // Wrong input (exit status 2) stays wrong; a pod that was evicted is no failure of its shard.
  text += fmt::format(
      "  completionMode: Indexed\n  completions: {}\n  parallelism: {}\n  backoffLimitPerIndex: 3\n"
      "  podFailurePolicy:\n    rules:\n"
      "    - action: FailIndex\n      onExitCodes: {{containerName: pipeloom, operator: In, values: [2]}}\n"
      "    - action: Ignore\n      onPodConditions: [{{type: DisruptionTarget}}]\n",
      job.shards, shards_at_once(job));
  text += pod(settings, settings.cpu,
              {"i=`expr \"$JOB_COMPLETION_INDEX\" + 1`", shard_command(job, fmt::format("{}", job.threads))});
  return {std::string(split_path(job.out).stem) + ".k8s.yaml", text};
}

JobFile merge_file(const JobDescription& job, const Settings& settings, const std::string& name) {
  std::string text =
      head(settings,
           fmt::format("Joins the {} shards of the sweep. Written by pipeloom {}.", job.shards, job.version),
           name + "-merge");
  text += "  backoffLimit: 3\n" + pod(settings, "1", {"exec " + merge_command(job)});
  return {std::string(split_path(job.out).stem) + ".merge.k8s.yaml", text};
}

}  // namespace

std::vector<std::string> kubernetes_keys() {
  return {"image", "claim", "mount", "namespace", "cpu", "memory"};
}

Jobs emit_kubernetes(const JobDescription& job) {
  require_plain(job);
  if (job.shards > kMaxKubernetesShards)
    throw InputError(
        Where{"--shards"},
        fmt::format("found {}; an indexed Job holds at most {} here; use fewer, and more threads per "
                    "shard with -j",
                    job.shards, kMaxKubernetesShards));
  const Settings settings = read_settings(job);
  const std::string name = object_name(job.out);
  Jobs jobs;
  jobs.shards = shards_file(job, settings, name);
  jobs.merge = merge_file(job, settings, name);
  const std::string name_space =
      settings.name_space.empty() ? "" : " --namespace=" + study::shell_word(settings.name_space);
  jobs.commands = fmt::format(
      "kubectl apply -f {}\n"
      "kubectl wait{} --for=condition=complete --timeout=24h job/{} && kubectl apply -f {}\n",
      study::shell_word(jobs.shards.path), name_space, name, study::shell_word(jobs.merge.path));
  return jobs;
}

}  // namespace pipeloom::sweep
