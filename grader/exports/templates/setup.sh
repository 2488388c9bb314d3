#!/usr/bin/env bash
# Runs once when Gradescope builds the image: the Python and the versions that the grader was packed with.
set -euo pipefail
root="${AUTOGRADER_ROOT:-/autograder}"
export UV_PYTHON_INSTALL_DIR="$root/python"
apt-get update -qq
apt-get install -qq -y --no-install-recommends python3 python3-venv ca-certificates
python3 -m venv "$root/uv"
"$root/uv/bin/pip" install --quiet uv
"$root/uv/bin/uv" venv --quiet --python @{ python }@ "$root/venv"
pip=("$root/uv/bin/uv" pip install --quiet --python "$root/venv/bin/python")
"${pip[@]}" --no-deps@{ " --require-hashes" if hashes else "" }@ -r "$root/source/requirements.txt"
"${pip[@]}" --no-deps@{ " --require-hashes" if hashes else "" }@ --index-url @{ torch_index }@ -r "$root/source/requirements-torch.txt"
# Nobody but the grader itself reads these, whatever else fails.
for folder in grader/checks grader/shipped/solutions course; do
  if [ -d "$root/source/$folder" ]; then chmod -R go-rwx "$root/source/$folder"; fi
done
