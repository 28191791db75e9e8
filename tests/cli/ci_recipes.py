#!/usr/bin/env python3
"""Runs the ready files of docs/ci with the real program, so that they cannot rot.

    ci_recipes.py --program PROGRAM

Reads each file as YAML and runs its commands in a project of its own, as the CI server would: once as it is, once with a change that must
be found. The package manager is a stand-in that takes the program for the content of the package (tests/install/deb_test.sh looks
into a real one). Exits 1 if anything is wrong, 77 where the Python package yaml is absent.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import yaml
except ImportError:
    print("SKIPPED: no Python package yaml")
    sys.exit(77)

RECIPES = Path(__file__).resolve().parents[2] / "docs" / "ci"

STAND_INS = {
    "sudo": 'exec "$@"\n',
    "apt-get": """
for argument; do
  case $argument in
    *.deb)
      [[ -s $argument ]] || { echo "no package at $argument" >&2; exit 100; }
      ln -sf "$PROGRAM" "${0%/*}/pipeloom" ;;
  esac
done
""",
}


class Project:
    """A checkout whose baseline is that of its configurations, on a machine without Pipeloom."""

    def __init__(self, folder, program):
        self.root = folder / "checkout"
        self.bin = folder / "bin"
        self.temporary = folder / "runner"
        for path in (self.root / "configs", self.root / "schedules", self.bin, self.temporary):
            path.mkdir(parents=True)
        (folder / "pipeloom.deb").write_text("a package")
        for name, text in STAND_INS.items():
            (self.bin / name).write_text("#!/usr/bin/env bash\n" + text)
            (self.bin / name).chmod(0o755)
        self.put("configs/run.json", '{"schedule": "zb-h1", "ranks": 4, "microbatches": 8}')
        self.put("schedules/two.csv", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")
        self.put("configs/suite.json", """{"schema_version": 1, "baseline": "suite.baseline.json", "metrics": ["makespan"],
          "cases": [{"name": "run", "config": "run.json"}, {"name": "two", "schedule": "../schedules/two.csv"}]}""")
        self.environment = {
            "PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(folder), "LC_ALL": "C.UTF-8",
            "PROGRAM": str(program), "PIPELOOM_DEB": (folder / "pipeloom.deb").as_uri(),
            "RUNNER_TEMP": str(self.temporary), "GITHUB_STEP_SUMMARY": str(self.temporary / "summary.md")}
        self.environment.update({name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")})
        subprocess.run([program, "check", "configs/suite.json", "--update", "-q"], cwd=self.root, check=True,
                       stdout=subprocess.DEVNULL, env=self.environment)

    def put(self, name, text):
        (self.root / name).write_text(text)

    def break_it(self):
        self.put("configs/run.json", '{"schedule": "1f1b", "ranks": 4, "microbatches": 8}')

    def bash(self, text, environment):
        return subprocess.run(["bash", "-e", "-o", "pipefail", "-c", text], cwd=self.root, timeout=60, check=False,
                              env={**self.environment, **environment}, capture_output=True, text=True)


def require(condition, what, done=None):
    if not condition:
        sys.exit(f"FAILED: {what}\n" + (done.stdout + done.stderr if done else ""))


def values(*maps):
    """Variables as the server would set them; those that the user sets are in the environment already."""
    merged = {name: str(value) for given in maps for name, value in (given or {}).items()}
    return {name: value for name, value in merged.items() if value and "${{" not in value}


def every_step(workflow):
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            yield values(workflow.get("env"), job.get("env"), step.get("env")), step


def run_github(project, broken):
    workflow = yaml.safe_load((RECIPES / "pipeloom.yml").read_text())
    # A bare `on` is true in YAML 1.1.
    require("pull_request" in workflow.get("on", workflow.get(True)), "the workflow runs for pull requests")
    commands = kept = 0
    for environment, step in every_step(workflow):
        if "run" in step:
            done = project.bash(step["run"], environment)
            commands += 1
            is_check = "pipeloom check" in step["run"]
            require(done.returncode == (1 if broken and is_check else 0), f"step {step.get('name')}", done)
            require(not is_check or ("\n::error file=configs/suite.json,line=2," in done.stdout) == broken, "annotations", done)
        elif "upload" in step["uses"]:
            require("always()" in step["if"], f"{step['name']}: results of a failed check are kept too")
            path = project.root / step["with"].get("path", step["with"].get("sarif_file"))
            require(path.exists(), f"{step['name']}: {path} is written")
            kept += 1
    require((commands, kept) == (2, 2), "every step of the workflow was looked at")
    require(("worse" in (project.temporary / "summary.md").read_text()) == broken, "the summary of the step")
    files = sorted(path.name for path in (project.root / "pipeloom-results").iterdir())
    require(files == ["benchmark.json", "bmf.json", "junit.xml", "pipeloom.sarif"], f"files: {files}")


def run_gitlab(project, broken):
    job = yaml.safe_load((RECIPES / "gitlab-ci.yml").read_text())["pipeloom"]
    environment = values(job["variables"])
    prepared = project.bash("\n".join(job["before_script"]).replace("/tmp/", f"{project.temporary}/"), environment)
    require(prepared.returncode == 0, "before_script of GitLab", prepared)
    done = project.bash("\n".join(job["script"]), environment)
    require(done.returncode == (1 if broken else 0), "script of GitLab", done)
    require(job["artifacts"]["when"] == "always", "GitLab keeps the results of a failed check")
    for path in [*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]]:
        require((project.root / path).exists(), f"GitLab's {path} is written")


def run_hooks(project, broken):
    project.bash('apt-get install "${PIPELOOM_DEB#file://}"', {})
    if broken:
        project.put("schedules/two.csv", "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n")
    files = sorted(str(path.relative_to(project.root)) for path in project.root.rglob("*") if path.is_file())
    hooks = yaml.safe_load((RECIPES / "pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    for hook in hooks:
        matching = [name for name in files if re.search(hook["files"], name)]
        require(matching, f"{hook['id']} looks at some file")
        arguments = shlex.split(hook["entry"]) + (matching if hook.get("pass_filenames", True) else [])
        done = subprocess.run(arguments, cwd=project.root, env=project.environment, capture_output=True, text=True,
                              timeout=60, check=False)
        require(done.returncode == (1 if broken else 0), f"hook {hook['id']}", done)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=Path)
    program = parser.parse_args().program.resolve()
    for run in (run_github, run_gitlab, run_hooks):
        for broken in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                project = Project(Path(folder), program)
                if broken:
                    project.break_it()
                run(project, broken)
                print(f"{run.__name__}: {'a change is found' if broken else 'fine'}")


if __name__ == "__main__":
    main()
