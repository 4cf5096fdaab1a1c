# To be sourced: what scripts that put noisyor beside other programs need. Makes the Python environment ($python) and builds noisyor
# ($NOISYOR, unless it is given) for the project in $root.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/target/topic-quality-venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    numpy==2.4.6 scipy==1.17.1 tomotopy==0.14.0 safetensors==0.8.0
# Without files of compiled code among the scripts.
python=("$venv/bin/python" -B)
if [ -z "${NOISYOR:-}" ]; then
    cargo build --release --quiet --manifest-path "$root/Cargo.toml"
    NOISYOR=$root/target/release/noisyor
fi
