"""What answers requests: the port is port.py, its adapters stand beside it."""

from gpuworker.engines.port import (
    Engine,
    EngineAnswer,
    EngineBusy,
    EngineDied,
    EngineRequest,
    EngineSettings,
    RequestRefused,
    UnableToAnswer,
)

__all__ = [
    "Engine",
    "EngineAnswer",
    "EngineBusy",
    "EngineDied",
    "EngineRequest",
    "EngineSettings",
    "RequestRefused",
    "UnableToAnswer",
    "open_engine",
]


def open_engine(kind: str, settings: EngineSettings) -> Engine:
    """The engine that a pool's model names: ``llama_cpp`` or ``echo``."""
    if kind == "llama_cpp":
        from gpuworker.engines.llama_cpp import LlamaCppEngine

        return LlamaCppEngine(settings)
    if kind == "echo":
        from gpuworker.engines.echo import EchoEngine

        return EchoEngine(settings)
    raise ValueError(f"unknown engine {kind!r}: use llama_cpp or echo")
