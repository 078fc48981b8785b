# graphfix without compilers, as an unprivileged user. docs/install.md says how to use the image.
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY graphfix graphfix
COPY rewrites rewrites
RUN python -m venv /opt/graphfix \
    && /opt/graphfix/bin/pip install --no-cache-dir --no-compile .

FROM python:3.13-slim
LABEL org.opencontainers.image.source="https://github.com/OWNER/graphfix" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/graphfix /opt/graphfix
RUN useradd --uid 10001 --create-home graphfix
ENV PATH=/opt/graphfix/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /models
ENTRYPOINT ["graphfix"]
CMD ["--help"]
