#include "study/sweep/emit/emit.hpp"

#include <pipeloom/error.hpp>
#include "support/catch.hpp"

namespace emit_test {

using namespace pipeloom;
using namespace pipeloom::sweep;

namespace {

JobDescription grid_in_seven() {
  JobDescription job;
  job.program = "/usr/bin/pipeloom";
  job.version = "0.4.0";
  job.folder = "/data/runs";
  job.arguments = {"grid.json", "--metrics", "makespan,bubble_ratio"};
  job.out = "out.jsonl";
  job.shards = 7;
  return job;
}

/// A folder, a program and a result that a careless script would stumble over.
JobDescription awkward() {
  JobDescription job = grid_in_seven();
  job.program = "/opt/it's/pipeloom";
  job.folder = R"(/data/a "b" \c $HOME)";
  job.arguments = {"my grid.json", "--set", "options.file='x'"};
  job.out = "res ults/o'ut*.jsonl";
  return job;
}

std::string message_of(const JobDescription& job, Jobs (*emit)(const JobDescription&)) {
  try {
    static_cast<void>(emit(job));
  } catch (const InputError& error) {
    return error.line();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("shards are named by part and count, before the extension") {
  CHECK(shard_path("out.jsonl", "3", 7) == "out.3-of-7.jsonl");
  CHECK(shard_path("v1.0/out", "3", 7) == "v1.0/out.3-of-7");
  CHECK(shard_path("dir/.hidden", "3", 7) == "dir/.hidden.3-of-7");
  CHECK(shard_path("a.b.csv", "12", 100) == "a.b.12-of-100.csv");
}

TEST_CASE("Slurm: an array with its size in it, a merge behind it, two commands") {
  const Jobs jobs = emit_slurm(grid_in_seven());
  CHECK(jobs.shards.path == "out.slurm");
  CHECK(jobs.shards.text ==
        R"(#!/bin/bash
# A sweep in 7 shards; tasks that failed: sbatch --array=3,5 and this file. Written by pipeloom 0.4.0; paths start at the folder below.
#SBATCH --job-name=out
#SBATCH --chdir="/data/runs"
#SBATCH --output=out.%a-of-7.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --array=1-7%7
#SBATCH --cpus-per-task=1

cd -- /data/runs || exit 3
i=$SLURM_ARRAY_TASK_ID
exec /usr/bin/pipeloom sweep grid.json --metrics makespan,bubble_ratio --shard "$i/7" --resume -j "${SLURM_CPUS_PER_TASK:-1}" -o out."$i"-of-7.jsonl
)");
  CHECK(jobs.merge.path == "out.merge.slurm");
  CHECK(jobs.merge.text ==
        R"(#!/bin/bash
# Joins the 7 shards of the sweep. Written by pipeloom 0.4.0; paths start at the folder below.
#SBATCH --job-name=out-merge
#SBATCH --chdir="/data/runs"
#SBATCH --output=out.merge.log
#SBATCH --open-mode=append
#SBATCH --requeue

cd -- /data/runs || exit 3
exec /usr/bin/pipeloom merge out.[0-9]*-of-7.jsonl -o out.jsonl --force
)");
  CHECK(jobs.commands ==
        "job=$(sbatch --parsable out.slurm)\n"
        "sbatch --dependency=afterok:\"${job%%;*}\" --kill-on-invalid-dep=yes out.merge.slurm\n");
}

TEST_CASE("Slurm: blanks and quotes of paths stay what they are") {
  const Jobs jobs = emit_slurm(awkward());
  CHECK(contains(jobs.shards.text, "#SBATCH --chdir=\"/data/a \\\"b\\\" \\\\c $HOME\"\n"));
  CHECK(contains(jobs.shards.text, "\ncd -- '/data/a \"b\" \\c $HOME' || exit 3\n"));
  CHECK(contains(jobs.shards.text,
                 R"(exec '/opt/it'\''s/pipeloom' sweep 'my grid.json' --set 'options.file='\''x'\''' )"));
  CHECK(contains(jobs.shards.text, R"(-o 'res ults/o'\''ut*'."$i"-of-7.jsonl)"));
  // Names of jobs and logs are plain.
  CHECK(contains(jobs.shards.text, "#SBATCH --output=o_ut_.%a-of-7.log\n"));
  CHECK(contains(jobs.merge.text,
                 R"(merge 'res ults/o'\''ut*'.[0-9]*-of-7.jsonl -o 'res ults/o'\''ut*.jsonl' --force)"));
  CHECK(contains(jobs.commands, R"(sbatch --parsable 'res ults/o'\''ut*.slurm')"));
}

TEST_CASE("Slurm: directives go to both files and last, so that they win") {
  JobDescription job = grid_in_seven();
  job.directives = {"--partition=short", "#SBATCH --cpus-per-task=8", "-A team"};
  const Jobs jobs = emit_slurm(job);
  const std::string lines = "#SBATCH --partition=short\n#SBATCH --cpus-per-task=8\n#SBATCH -A team\n\n";
  CHECK(contains(jobs.shards.text, "#SBATCH --cpus-per-task=1\n" + lines));
  CHECK(contains(jobs.merge.text, "#SBATCH --requeue\n" + lines));

  job.directives = {"partition=short"};
  CHECK(message_of(job, emit_slurm) ==
        "--directive: error: found 'partition=short'; allowed is an option of sbatch, such as "
        "--partition=short or "
        "--time=01:00:00");
  job.directives = {"--array=1-3"};
  CHECK(message_of(job, emit_slurm) ==
        "--directive: error: found '--array=1-3'; the array follows from --shards, and how many of them run "
        "at once "
        "from --at-once");
  job.directives = {"--partition=a\nrm -rf x"};
  CHECK(contains(message_of(job, emit_slurm), "holds a line break"));
}

TEST_CASE("Slurm: arrays are as large as it takes them, and throttled") {
  JobDescription job = grid_in_seven();
  job.shards = 1000;
  CHECK(contains(emit_slurm(job).shards.text, "#SBATCH --array=1-1000%64\n"));
  job.at_once = 500;
  CHECK(contains(emit_slurm(job).shards.text, "#SBATCH --array=1-1000%500\n"));
  job.shards = 1001;
  CHECK(message_of(job, emit_slurm) ==
        "--shards: error: found 1001; an array of Slurm holds at most 1000 tasks, as its MaxArraySize is "
        "1001 unless "
        "raised; use --shards 1000 or fewer, and more threads per shard with -j");
  job.shards = 7;
  job.folder = "/data/100%";
  CHECK(contains(message_of(job, emit_slurm), "holds a '%', which Slurm replaces in the names of logs"));
}

TEST_CASE("Kubernetes: an indexed Job, whose pods count from 0") {
  const Jobs jobs = emit_kubernetes(grid_in_seven());
  CHECK(jobs.shards.path == "out.k8s.yaml");
  CHECK(jobs.shards.text ==
        R"(# A sweep in 7 shards. Written by pipeloom 0.4.0; relative paths start at the volume's mount,
# which the pods of several nodes write: ReadWriteMany. Kubernetes 1.29 or later.
apiVersion: batch/v1
kind: Job
metadata:
  name: pipeloom-out
  labels:
    app.kubernetes.io/name: pipeloom
spec:
  completionMode: Indexed
  completions: 7
  parallelism: 7
  backoffLimitPerIndex: 3
  podFailurePolicy:
    rules:
    - action: FailIndex
      onExitCodes: {containerName: pipeloom, operator: In, values: [2]}
    - action: Ignore
      onPodConditions: [{type: DisruptionTarget}]
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: pipeloom
        image: "pipeloom:0.4.0"
        workingDir: "/results"
        command: ["/bin/sh", "-c"]
        args:
        - |
          i=`expr "$JOB_COMPLETION_INDEX" + 1`
          exec /usr/bin/pipeloom sweep grid.json --metrics makespan,bubble_ratio --shard "$i/7" --resume -j 1 -o out."$i"-of-7.jsonl
        resources:
          requests: {cpu: "1", memory: "1Gi"}
        volumeMounts:
        - {name: results, mountPath: "/results"}
      volumes:
      - name: results
        persistentVolumeClaim: {claimName: "pipeloom-results"}
)");
  CHECK(contains(jobs.merge.text, "  name: pipeloom-out-merge\n"));
  CHECK(contains(jobs.merge.text,
                 "          exec /usr/bin/pipeloom merge out.[0-9]*-of-7.jsonl -o out.jsonl --force\n"));
  CHECK_FALSE(contains(jobs.merge.text, "Indexed"));
  CHECK(jobs.commands ==
        "kubectl apply -f out.k8s.yaml\n"
        "kubectl wait --for=condition=complete --timeout=24h job/pipeloom-out && kubectl apply -f "
        "out.merge.k8s.yaml\n");
}

TEST_CASE("Kubernetes: directives are the keys that a manifest needs") {
  JobDescription job = grid_in_seven();
  job.threads = 4;
  job.directives = {"image=registry.example/pipeloom:1", "claim=team-volume", "mount=/data", "namespace=sim",
                    "memory=4Gi"};
  const Jobs jobs = emit_kubernetes(job);
  for (const char* part :
       {"image: \"registry.example/pipeloom:1\"", "claimName: \"team-volume\"", "workingDir: \"/data\"",
        "mountPath: \"/data\"", "  namespace: \"sim\"\n", "{cpu: \"4\", memory: \"4Gi\"}", " -j 4 "})
    CHECK(contains(jobs.shards.text, part));
  CHECK(contains(jobs.commands, "kubectl wait --namespace=sim "));
  job.directives = {"imege=x"};
  CHECK(contains(message_of(job, emit_kubernetes), "--directive: error: unknown key 'imege'"));
  job.directives = {"--partition=x=y"};
  CHECK(contains(message_of(job, emit_kubernetes), "unknown key '--partition'"));
  job.directives = {"image"};
  CHECK(contains(message_of(job, emit_kubernetes), "allowed for Kubernetes is KEY=VALUE"));
}

TEST_CASE("Kubernetes: what it would replace itself is written so that the shell sees the path") {
  JobDescription job = grid_in_seven();
  job.arguments = {"$(HOSTNAME).json"};
  const std::string text = emit_kubernetes(job).shards.text;
  CHECK(contains(text, "sweep '$$(HOSTNAME).json' --shard \"$$i/7\""));
}

TEST_CASE("a job needs files") {
  JobDescription job = grid_in_seven();
  job.out = "-";
  CHECK(contains(message_of(job, emit_slurm), "name one with -o"));
  CHECK(contains(message_of(job, emit_kubernetes), "name one with -o"));
}

}  // namespace emit_test
