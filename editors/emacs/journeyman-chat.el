;;; journeyman-chat.el --- Conversations with a coding agent as .chat documents  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools

;;; Commentary:

;; A conversation is a text file.  Write below "@You:", type C-c C-c, and the answer is appended.  The calls
;; of the model stand in the document; approve one with C-c C-a, reject it with C-c C-r, look at its diff
;; with C-c C-d.
;;
;; The logic is in the program: this mode saves the buffer, runs `jm chat', and reads the file again.  Emacs
;; never waits for it.  Where the calls are, and what each would do, is what `jm chat --inspect' says.

;;; Code:

(require 'cl-lib)
(require 'journeyman-base)
(require 'json)
(require 'outline)
(require 'subr-x)

(defcustom journeyman-chat-arguments nil
  "Additional flags of `jm chat'."
  :type '(repeat string)
  :group 'journeyman)

(defcustom journeyman-cursor-after-result 'result
  "The position of point after a tool has run."
  :type '(choice (const result) (const stay) (const next))
  :group 'journeyman)

(defface journeyman-preview '((t :inherit font-lock-comment-face))
  "The preview of a pending call."
  :group 'journeyman)

(defface journeyman-working '((t :inherit font-lock-warning-face))
  "The running call, and an answer that is streaming."
  :group 'journeyman)

(defface journeyman-finding '((t :inherit warning))
  "A syntax error in the document."
  :group 'journeyman)

(defvar journeyman-finished-functions nil
  "Functions that are called when a run has ended.
They get the buffer, and the last event or nil.")

(defvar-local journeyman-chat--process nil
  "The program that works on this document.")
(defvar-local journeyman-chat--inspector nil
  "The program that inspects this buffer's text.")
(defvar-local journeyman-chat--calls nil
  "The calls of the document, as the program sees them.")
(defvar-local journeyman-chat--blocks nil
  "The blocks of the document, as the program sees them.")
(defvar-local journeyman-chat--tools nil
  "The names of the tools that the document may use.")
(defvar-local journeyman-chat--answer ""
  "The answer that is streaming.")
(defvar-local journeyman-chat--ended nil
  "The last event of the run.")
(defvar-local journeyman-chat--timer nil
  "The timer for the next inspection of the text.")
(defvar-local journeyman-chat--waiting nil
  "Functions to call after the next inspection of the text.")

;;;; The program

(defun journeyman-chat--start (name words on-event on-ended &optional input)
  "Start `jm chat' with WORDS as process NAME.
ON-EVENT gets each JSON object; ON-ENDED the exit code and the error output.
INPUT is its standard input."
  (journeyman-base-start
   name (cons "chat" words)
   (lambda (line)
     (when-let ((event (ignore-errors
                         (json-parse-string line :object-type 'alist :array-type 'list
                                            :null-object nil :false-object nil))))
       (funcall on-event event)))
   on-ended input))

(defun journeyman-chat--fail (format &rest arguments)
  "Show an error, by FORMAT and ARGUMENTS."
  (message "jm: %s" (apply #'format format arguments)))

;;;; What the program sees

(defun journeyman-chat-inspect (&optional done)
  "Ask the program about the buffer's text; call DONE when it has answered."
  (when done (push done journeyman-chat--waiting))
  (unless (process-live-p journeyman-chat--inspector)
    (let ((seen nil)
          (tick (buffer-chars-modified-tick)))
      (condition-case problem
          (setq journeyman-chat--inspector
                (journeyman-chat--start
                 "jm-inspect" (list "--inspect" "--stdin" "--" (buffer-file-name))
                 (lambda (event) (setq seen event))
                 (lambda (_code said)
                   (setq journeyman-chat--inspector nil)
                   (if (/= tick (buffer-chars-modified-tick))
                       (journeyman-chat-inspect)
                     (when seen (journeyman-chat--show seen))
                     (unless seen (journeyman-chat--fail "%s" said))
                     (let ((waiting journeyman-chat--waiting))
                       (setq journeyman-chat--waiting nil)
                       (mapc #'funcall waiting))))
                 (save-restriction (widen) (buffer-substring-no-properties (point-min) (point-max)))))
        (user-error
         (setq journeyman-chat--waiting nil)
         (journeyman-chat--fail "%s" (cadr problem)))))))

(defun journeyman-chat--inspect-later (&rest _)
  "Inspect the text a moment after the last change."
  (when (timerp journeyman-chat--timer) (cancel-timer journeyman-chat--timer))
  (let ((buffer (current-buffer)))
    (setq journeyman-chat--timer
          (run-with-idle-timer 0.2 nil
                               (lambda ()
                                 (when (buffer-live-p buffer)
                                   (with-current-buffer buffer
                                     (unless (process-live-p journeyman-chat--process)
                                       (journeyman-chat-inspect)))))))))

(defun journeyman-chat--line-start (line)
  "The position of the start of LINE."
  (save-excursion
    (goto-char (point-min))
    (forward-line (1- line))
    (point)))

(defun journeyman-chat--show (seen)
  "Show what the program has SEEN: previews and errors."
  (let-alist seen
    (setq journeyman-chat--calls .calls
          journeyman-chat--blocks .blocks
          journeyman-chat--tools .tools)
    (remove-overlays (point-min) (point-max) 'journeyman t)
    (dolist (call .calls)
      (let-alist call
        (when (and .body_line .preview (not .typed))
          (let ((over (make-overlay (journeyman-chat--line-start .body_line)
                                    (journeyman-chat--line-start .body_line)))
                (width (max 20 (- (window-width (get-buffer-window)) 1))))
            (overlay-put over 'journeyman t)
            (overlay-put over 'before-string
                         (propertize (concat (truncate-string-to-width .preview width nil nil "…") "\n"
                                             (and .error (concat "would fail: " .error "\n")))
                                     'face 'journeyman-preview))))))
    (dolist (finding .findings)
      (let-alist finding
        (let* ((start (journeyman-chat--line-start .line))
               (over (make-overlay start (save-excursion (goto-char start) (line-end-position)))))
          (overlay-put over 'journeyman t)
          (overlay-put over 'face 'journeyman-finding)
          (overlay-put over 'help-echo .message))))))

(defun journeyman-chat--call-here ()
  "The call at point, or the first pending one below it."
  (let ((line (line-number-at-pos nil t))
        nearest)
    (or (cl-find-if
         (lambda (call)
           (cl-some (lambda (block)
                      (and (memql (alist-get 'line block)
                                  (list (alist-get 'line call) (alist-get 'result_line call)))
                           (<= (alist-get 'line block) line (alist-get 'end_line block))))
                    journeyman-chat--blocks))
         journeyman-chat--calls)
        (progn
          (dolist (call (reverse journeyman-chat--calls) nearest)
            (when (and (equal (alist-get 'status call) "pending")
                       (>= (or (alist-get 'result_line call) 0) line))
              (setq nearest call)))))))

(defmacro journeyman-chat--with-call (call &rest body)
  "Inspect the text, and run BODY with CALL bound to the call at point."
  (declare (indent 1))
  `(let ((place (point-marker)))
     (journeyman-chat-inspect
      (lambda ()
        (let ((,call (save-excursion (goto-char place) (journeyman-chat--call-here))))
          (if ,call
              (progn ,@body)
            (journeyman-chat--fail "no tool call at point, and none is pending below it")))))))

;;;; Runs

(defun journeyman-chat--unsaved-rules ()
  "Flags that keep the agent from files with unsaved changes in this Emacs."
  (let ((root (file-name-directory (expand-file-name (buffer-file-name)))))
    (cl-loop for other in (buffer-list)
             for name = (buffer-file-name other)
             when (and name (not (eq other (current-buffer))) (buffer-modified-p other)
                       (string-prefix-p root (expand-file-name name)))
             append (let ((path (replace-regexp-in-string
                                 "[][{}*?\\\\]" "\\\\\\&"
                                 (substring (expand-file-name name) (length root)))))
                      (list "--deny" (concat "write: " path) "--deny" (concat "edit: " path))))))

(defun journeyman-chat--reload ()
  "Put the file's text into the buffer, changing only what differs."
  (let ((inhibit-read-only t)
        (inhibit-modification-hooks t)
        (file (buffer-file-name))
        (target (current-buffer)))
    (when (file-readable-p file)
      (with-temp-buffer
        (insert-file-contents file)
        (let ((source (current-buffer)))
          (with-current-buffer target
            (save-restriction
              (widen)
              (replace-buffer-contents source 1.0)))))
      (set-visited-file-modtime)
      (set-buffer-modified-p nil))))

(defun journeyman-chat--working (text)
  "Show TEXT below the document."
  (remove-overlays (point-min) (point-max) 'journeyman-working t)
  (when text
    (let ((over (make-overlay (point-max) (point-max) nil t t)))
      (overlay-put over 'journeyman-working t)
      (overlay-put over 'after-string (propertize text 'face 'journeyman-working)))))

(defun journeyman-chat--tail ()
  "The end of the streaming answer and the hint how to stop."
  (let ((lines (split-string journeyman-chat--answer "\n")))
    (concat (and (not (string-empty-p journeyman-chat--answer))
                 (concat (string-join (last lines 12) "\n") "\n"))
            "working (C-c C-k stops it)\n")))

(defun journeyman-chat--event (event)
  "Process one EVENT of a run."
  (let-alist event
    (pcase .type
      ("text" (setq journeyman-chat--answer (concat journeyman-chat--answer .text)))
      ("document"
       (setq journeyman-chat--answer "")
       (journeyman-chat--reload)
       (journeyman-base-reread))
      ("note" (when .text (message "jm: %s" .text)))
      ("end" (setq journeyman-chat--ended event))))
  (when (process-live-p journeyman-chat--process)
    (journeyman-chat--working (journeyman-chat--tail))))

(defun journeyman-chat--finish (tool code said)
  "Make the buffer writable after a run.
TOOL is the one call that ran, or nil; it ended with CODE and SAID."
  (setq journeyman-chat--process nil
        buffer-read-only nil)
  (journeyman-chat--working nil)
  (journeyman-chat--reload)
  (journeyman-base-reread)
  (force-mode-line-update)
  (let ((ended journeyman-chat--ended))
    (cond ((alist-get 'message ended) (journeyman-chat--fail "%s" (alist-get 'message ended)))
          ((not ended)
           (journeyman-chat--fail
            "%s\nThe document is as it was last written; send it again to continue."
            (if (string-empty-p said) (format "ended with exit code %s" code) said))))
    (journeyman-chat-inspect
     (lambda ()
       (journeyman-chat--put-point ended tool)
       (run-hook-with-args 'journeyman-finished-functions (current-buffer) ended)))))

(defun journeyman-chat--put-point (ended tool)
  "Move point after a run that ENDED, of one TOOL or of all."
  (let* ((reason (alist-get 'reason ended))
         (call (and tool (cl-find tool journeyman-chat--calls :test #'equal
                                  :key (lambda (call) (alist-get 'id call)))))
         (place (cond ((equal reason "pending") (journeyman-chat--line-start (alist-get 'line ended)))
                      ((eq journeyman-cursor-after-result 'stay) nil)
                      ((or (equal reason "finished") (eq journeyman-cursor-after-result 'next))
                       (point-max))
                      (call (journeyman-chat--line-start (alist-get 'line call))))))
    (when place
      (goto-char place)
      (dolist (window (get-buffer-window-list nil nil t)) (set-window-point window place)))))

(defun journeyman-chat--run (words &optional tool)
  "Save the buffer and run `jm chat' with WORDS over it.
TOOL is the one call to run, or nil."
  (when (process-live-p journeyman-chat--process)
    (user-error "Already working; C-c C-k stops it"))
  (let ((save-silently t)) (save-buffer))
  (setq journeyman-chat--answer "" journeyman-chat--ended nil)
  (setq journeyman-chat--process
        (journeyman-chat--start
         "jm-chat"
         (append '("--json")
                 (and journeyman-model (not tool) (list "--model" journeyman-model))
                 journeyman-chat-arguments (journeyman-chat--unsaved-rules) words
                 (list "--" (buffer-file-name)))
         #'journeyman-chat--event
         (lambda (code said) (journeyman-chat--finish tool code said))))
  (setq buffer-read-only t)
  (journeyman-chat--working (journeyman-chat--tail))
  (force-mode-line-update))

;;;; Commands

(defun journeyman-chat-send ()
  "Run the cycle: categorize, execute, send."
  (interactive)
  (journeyman-chat--run nil))

(defun journeyman-chat-tool ()
  "Run the one tool at point."
  (interactive)
  (journeyman-chat--with-call call
    (journeyman-chat--run (list "--tool" (alist-get 'id call)) (alist-get 'id call))))

(defun journeyman-chat--set-status (call status &optional text)
  "Set the placeholder of CALL to STATUS, with TEXT in its block."
  (let-alist call
    (unless .status_line
      (user-error "%s is not pending: its status is %s" .id .status))
    (save-excursion
      (when (and text (not (string-empty-p text)))
        (goto-char (journeyman-chat--line-start .body_line))
        (insert text "\n"))
      ;; Columns are in bytes; the word itself is ASCII.
      (let* ((line (position-bytes (journeyman-chat--line-start .status_line)))
             (start (byte-to-position (+ line (1- .status_column)))))
        (goto-char start)
        (delete-region start (+ start .status_length))
        (insert status))))
  (journeyman-chat-inspect))

(defun journeyman-chat-approve ()
  "Approve the call at point; sending runs it."
  (interactive)
  (journeyman-chat--with-call call (journeyman-chat--set-status call "approved")))

(defun journeyman-chat-reject (reason)
  "Reject the call at point; the model is told the REASON."
  (interactive "sReason (empty for none): ")
  (journeyman-chat--with-call call (journeyman-chat--set-status call "rejected" reason)))

(defun journeyman-chat-cancel ()
  "Stop; the answer so far is kept and marked."
  (interactive)
  (if (process-live-p journeyman-chat--process)
      (interrupt-process journeyman-chat--process)
    (message "jm: nothing is running")))

(defun journeyman-chat-diff ()
  "Show what the edit at point would change."
  (interactive)
  (journeyman-chat--with-call call
    (let-alist call
      (if (not .diff)
          (journeyman-chat--fail "%s changes no file that can be shown" .name)
        (with-current-buffer (get-buffer-create (format "*jm diff %s*" .id))
          (let ((inhibit-read-only t))
            (erase-buffer)
            (insert .diff)
            (goto-char (point-min))
            (diff-mode)
            (setq buffer-read-only t))
          (pop-to-buffer (current-buffer)))))))

(defun journeyman-chat-visit ()
  "Open the file that the call at point names."
  (interactive)
  (journeyman-chat--with-call call
    (let ((path (alist-get 'path call)))
      (if path
          (find-file (expand-file-name path (file-name-directory (buffer-file-name))))
        (journeyman-chat--fail "%s names no file" (alist-get 'name call))))))

(defun journeyman-chat-next ()
  "Move to the next pending call."
  (interactive)
  (journeyman-chat-inspect
   (lambda ()
     (let* ((line (line-number-at-pos nil t))
            (lines (cl-loop for call in journeyman-chat--calls
                            when (equal (alist-get 'status call) "pending")
                            collect (alist-get 'result_line call)))
            (next (or (cl-find-if (lambda (one) (> one line)) lines) (car lines))))
       (if next (goto-char (journeyman-chat--line-start next)) (message "jm: nothing is pending"))))))

(defun journeyman-chat-complete ()
  "Complete statuses, roles, tools and presets.
For `completion-at-point-functions'."
  (let ((end (point)))
    (cond ((looking-back "status=\\([a-z]*\\)" (line-beginning-position))
           (list (match-beginning 1) end '("approved" "pending" "denied" "rejected")))
          ((looking-back "^@[A-Za-z]*" (line-beginning-position))
           (list (line-beginning-position) end '("@System:" "@You:" "@Assistant:")))
          ((looking-back "[\"' ]\\([$A-Za-z_]+\\)" (line-beginning-position))
           (list (match-beginning 1) end (append journeyman-chat--tools '("$readonly" "$default"))
                 :exclusive 'no)))))

;;;; The mode

(defvar journeyman-chat-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'journeyman-chat-send)
    (define-key map (kbd "C-c C-t") #'journeyman-chat-tool)
    (define-key map (kbd "C-c C-a") #'journeyman-chat-approve)
    (define-key map (kbd "C-c C-r") #'journeyman-chat-reject)
    (define-key map (kbd "C-c C-k") #'journeyman-chat-cancel)
    (define-key map (kbd "C-c C-d") #'journeyman-chat-diff)
    (define-key map (kbd "C-c C-f") #'journeyman-chat-visit)
    (define-key map (kbd "C-c C-n") #'journeyman-chat-next)
    map))

(defconst journeyman-chat--font-lock
  '(("^@\\(?:System\\|You\\|Assistant\\):" . font-lock-keyword-face)
    ("^\\*\\*Tool \\(?:Use\\|Result\\):\\*\\*.*(error).*$" . font-lock-warning-face)
    ("^\\*\\*Tool \\(?:Use\\|Result\\):\\*\\*.*$" . font-lock-function-name-face)
    ("status=\\(?:approved\\|pending\\|denied\\|rejected\\|aborted\\)" . font-lock-constant-face)
    ("^</?thinking.*>$" . font-lock-comment-face)
    ("^<!-- flemma:aborted:.*-->$" . font-lock-warning-face)
    ("^```.*$" . font-lock-preprocessor-face)
    ("\\(?:^\\|\\s-\\)\\(@\\(?:\\.\\.?/\\|~/\\|//\\)\\S-+\\)" 1 link)))

;;;###autoload
(define-derived-mode journeyman-chat-mode text-mode "Chat"
  "Conversations with a coding agent as documents.

\\{journeyman-chat-mode-map}"
  (setq-local font-lock-defaults '(journeyman-chat--font-lock t))
  (setq-local outline-regexp "@\\(?:System\\|You\\|Assistant\\):\\|\\*\\*Tool \\(?:Use\\|Result\\):\\*\\*")
  (setq-local outline-level (lambda () (if (eq (char-after) ?@) 1 2)))
  (setq-local mode-line-process
              '(:eval (and (process-live-p journeyman-chat--process) " working")))
  (outline-minor-mode 1)
  (visual-line-mode 1)
  (add-hook 'completion-at-point-functions #'journeyman-chat-complete nil t)
  (add-hook 'after-change-functions #'journeyman-chat--inspect-later nil t)
  (add-hook 'kill-buffer-hook #'journeyman-chat--forget nil t)
  (when (buffer-file-name) (journeyman-chat-inspect)))

(defun journeyman-chat--forget ()
  "Stop the program of a buffer that is killed."
  (when (timerp journeyman-chat--timer) (cancel-timer journeyman-chat--timer))
  (dolist (process (list journeyman-chat--process journeyman-chat--inspector))
    (when (process-live-p process) (delete-process process))))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.chat\\'" . journeyman-chat-mode))

(provide 'journeyman-chat)
;;; journeyman-chat.el ends here
