{# The lines of a workflow that install the grader, the packages that it needs, and the course. #}
{% set pip = "grader/bin/python -m pip" %}
{% set usual = "--quiet --disable-pip-version-check --no-deps" %}
{% if host == "gitlab" and (url or "git+" in requirement) %}
apt-get update -qq && apt-get install -qq -y --no-install-recommends git ca-certificates
{% endif %}
{% if hashes %}
wheels=@{ wheels }@
{% endif %}
{% if url %}
git init --quiet course
git -C course fetch --quiet --depth 1 -- @{ url }@ @{ commit }@
git -C course checkout --quiet FETCH_HEAD
{% endif %}
cat > others.txt <<'END'
@{ others | join("\n") }@
END
cat > torch.txt <<'END'
@{ torch | join("\n") }@
END
{% if hashes %}
{# Others can put files into the cache, too: pip checks by its hash all that it takes from there. #}
@{ pip }@ download @{ usual }@ --require-hashes --dest "$wheels" -r others.txt
@{ pip }@ download @{ usual }@ --require-hashes --dest "$wheels" --index-url @{ torch_index }@ -r torch.txt
@{ pip }@ install @{ usual }@ --require-hashes --no-index --find-links "$wheels" -r others.txt -r torch.txt
{% else %}
@{ pip }@ install @{ usual }@ -r others.txt
@{ pip }@ install @{ usual }@ --index-url @{ torch_index }@ -r torch.txt
{% endif %}
@{ pip }@ install @{ usual }@ @{ requirement }@
@{ pip }@ check
