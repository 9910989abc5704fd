export class HttpError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }

  toBody() {
    return { error: this.message, status: this.status };
  }
}

export class NotFoundError extends HttpError {
  constructor(path) {
    super(404, `no route for ${path}`);
    this.path = path;
  }

  toBody() {
    return { ...super.toBody(), path: this.path };
  }
}
